"""Each asset of a portfolio has its addresses, and keys that see it read them."""

from pathlib import Path

from bench.data.directory import Directory
from bench.data.portfolio import Portfolio
from bench.data.portfolio_requests import FIRST_PAGE, KINDS, list_addresses

DIRECTORY = Directory("", 0, "", "all", [], [], Path())
PORTFOLIO = Portfolio(
    DIRECTORY, 12, "half", ["ten-0", "ten-1"], [f"one-{number}" for number in range(12)]
)


def test_the_shares_of_the_mix_are_all_of_it() -> None:
    assert sum(kind.share for kind in KINDS) == 100


def test_each_asset_has_ten_addresses_that_no_other_has() -> None:
    by_kind = list_addresses(PORTFOLIO)
    pages = by_kind.pop(FIRST_PAGE)
    requests = [
        (address.request.path, address.request.body, address.request.headers["API-Key"])
        for own in (*by_kind.values(), pages)
        for address in own
    ]
    assert len(requests) == len({*requests}) == 12 * 10 + 4
    assert [page.asset for page in pages] == [None] * 4


def test_an_address_is_read_by_a_key_that_sees_its_asset() -> None:
    by_kind = list_addresses(PORTFOLIO)
    keys = {
        name: [address.request.headers["API-Key"] for address in own]
        for name, own in by_kind.items()
    }
    assert keys["map"] == PORTFOLIO.asset_keys
    assert keys["nested"] == ["ten-0"] * 10 + ["ten-1"] * 2
    assert keys["floor-half"] == ["half"] * 6 + ["all"] * 6
