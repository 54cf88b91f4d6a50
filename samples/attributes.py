"""Attribute groups of the demo property and which apartment holds which attribute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from samples.apartments import KINDS
from samples.plan import Apartment, Storey

PLANS, FINISHES, FEATURES = "floor-plan", "finish-package", "views-and-features"


def group(group_id: str, name: str, one: bool, attributes: dict[str, str]) -> dict[str, Any]:
    """`attributes` maps keys to names."""
    items = [
        {"attribute_id": f"{group_id}-{key}", "attribute_name": name, "attribute_key": key}
        for key, name in attributes.items()
    ]
    fields = {"group_id": group_id, "group_name": name, "one_attribute_per_unit": one}
    return {**fields, "attributes": items}


GROUPS = [
    group(PLANS, "Floor plan", True, {kind.key: kind.name for kind in KINDS}),
    group(
        FINISHES,
        "Finish package",
        True,
        {"classic": "Classic", "modern": "Modern", "signature": "Signature"},
    ),
    group(
        FEATURES,
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
    """Pairs of group id and attribute id."""
    yield PLANS, f"{PLANS}-{flat.kind}"
    yield FINISHES, f"{FINISHES}-{finish(storey, flat)}"
    for feature in flat.features:
        yield FEATURES, f"{FEATURES}-{feature}"


def finish(storey: Storey, flat: Apartment) -> str:
    if storey.number == 5 or flat.kind == "three-bedroom":
        return "signature"
    return "classic" if storey.number <= 2 else "modern"
