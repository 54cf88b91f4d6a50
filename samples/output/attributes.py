"""The attribute groups of the demo property and their assignment to apartments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from samples.buildings.apartments import APARTMENT_TYPES
from samples.buildings.plan import Apartment, Storey

TYPE_GROUP, FINISH_GROUP, FEATURE_GROUP = "apartment-type", "finish-package", "views-and-features"


def build_group(
    group_id: str, name: str, one_per_unit: bool, attributes: dict[str, str]
) -> dict[str, Any]:
    """Return an attribute group; `attributes` maps keys to names."""
    items = [
        {"attribute_id": f"{group_id}-{key}", "attribute_name": name, "attribute_key": key}
        for key, name in attributes.items()
    ]
    fields = {"group_id": group_id, "group_name": name, "one_attribute_per_unit": one_per_unit}
    return {**fields, "attributes": items}


GROUPS = [
    build_group(
        TYPE_GROUP, "Apartment type", True, {kind.key: kind.name for kind in APARTMENT_TYPES}
    ),
    build_group(
        FINISH_GROUP,
        "Finish package",
        True,
        {"classic": "Classic", "modern": "Modern", "signature": "Signature"},
    ),
    build_group(
        FEATURE_GROUP,
        "Views & features",
        False,
        {
            "court-view": "Garden court view",
            "street-view": "Street view",
            "park-view": "Park view",
            "balcony": "Balcony",
            "bay-window": "Bay window",
            "corner": "Corner apartment",
            "top-floor": "Top floor",
        },
    ),
]


def assigned_attributes(storey: Storey, flat: Apartment) -> Iterator[tuple[str, str]]:
    """Iterate over the (group id, attribute id) pairs of an apartment."""
    yield TYPE_GROUP, f"{TYPE_GROUP}-{flat.kind}"
    yield FINISH_GROUP, f"{FINISH_GROUP}-{finish_of(storey, flat)}"
    for feature in flat.features:
        yield FEATURE_GROUP, f"{FEATURE_GROUP}-{feature}"


def finish_of(storey: Storey, flat: Apartment) -> str:
    if storey.number == 5 or flat.kind == "three-bedroom":
        return "signature"
    return "classic" if storey.number <= 2 else "modern"
