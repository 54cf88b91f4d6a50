"""Assets: the members that a bundle may hold."""

from typing import Any

import pytest

from storage.assets import ASSETS, Asset
from storage.bundles.reading.members import MemberError, parse_member


def decode(**member: Any) -> Asset:
    (asset,) = ASSETS.decode([parse_member(ASSETS, member)])
    return asset


def test_an_asset_is_residential_unless_its_market_is_given() -> None:
    assert decode(id="a", name="Alder Court").market == "multifamily"
    assert decode(id="a", name="Alder Court", market="office").market == "office"


@pytest.mark.parametrize(
    ("member", "path"),
    [
        ({"name": "Alder Court"}, ""),
        ({"id": "a"}, ""),
        ({"id": "", "name": ""}, ".id"),
        ({"id": "x" * 256, "name": ""}, ".id"),
        ({"id": "a", "name": "x" * 2049}, ".name"),
        ({"id": "a", "name": "", "market": None}, ".market"),
        ({"id": "a", "name": "", "asset_id": "a"}, ""),
    ],
)
def test_other_members_are_rejected(member: dict[str, Any], path: str) -> None:
    with pytest.raises(MemberError) as raised:
        decode(**member)
    assert {fault.path for fault in raised.value.find_faults()} == {path}
