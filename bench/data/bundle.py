"""Write a bundle of any size for measurements.

`python -m bench.data.bundle --units 1000000 > big.ndjson`.

Assets have 250 units on eight floors and one map, as a mid-rise property has. Units are not
sorted by id, as in exports of property-management systems.
"""

import sys
from collections.abc import Iterator
from typing import Any

import click
import orjson

UNITS_PER_ASSET = 250
FLOORS_PER_ASSET = 8
ID_MULTIPLIER = 7_368_787
"""A prime; multiplying by it modulo another prime spreads ids over their range."""


def iter_members(units: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every member with its kind, owners first."""
    assets = -(-units // UNITS_PER_ASSET)
    for asset in range(assets):
        yield "asset", {"id": get_asset_id(asset), "name": f"Property {asset}"}
    for asset in range(assets):
        for floor in range(FLOORS_PER_ASSET):
            yield "floor", _floor(asset, floor)
    for asset in range(assets):
        yield (
            "map",
            {"id": f"map-{asset:06}", "asset_id": get_asset_id(asset), "name": "Floor plates"},
        )
    for unit in range(units):
        yield "unit", _unit(unit)


def iter_small_members(assets: int, units: int = 20) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield assets with a map, two floors, and a few units each, owners first."""
    for asset in range(assets):
        yield "asset", {"id": get_asset_id(asset), "name": f"Property {asset}"}
    for asset in range(assets):
        for floor in range(2):
            yield "floor", _floor(asset, floor)
        yield (
            "map",
            {"id": f"map-{asset:06}", "asset_id": get_asset_id(asset), "name": "Floor plates"},
        )
    for unit in range(assets * units):
        asset, number = divmod(unit, units)
        yield (
            "unit",
            _unit(asset * UNITS_PER_ASSET + number)
            | {"floor_id": f"{get_asset_id(asset)}-floor-{number % 2}"},
        )


def get_asset_id(asset: int) -> str:
    """Return the id of an asset by its number."""
    return f"asset-{asset:06}"


def _floor(asset: int, floor: int) -> dict[str, Any]:
    return {
        "id": f"{get_asset_id(asset)}-floor-{floor}",
        "asset_id": get_asset_id(asset),
        "name": f"Floor {floor}",
        "short_label": str(floor),
        "sort": floor,
    }


def _unit(unit: int) -> dict[str, Any]:
    asset, number = divmod(unit, UNITS_PER_ASSET)
    floor, door = number % FLOORS_PER_ASSET, number // FLOORS_PER_ASSET
    return {
        "id": f"unit-{unit * ID_MULTIPLIER % 1_000_000_007:010}",
        "asset_id": get_asset_id(asset),
        "floor_id": f"{get_asset_id(asset)}-floor-{floor}",
        "name": f"{floor}{door:02}",
    }


def write_lines(units: int) -> None:
    """Write one member per line."""
    for kind, member in iter_members(units):
        sys.stdout.buffer.write(orjson.dumps({"type": kind, **member}) + b"\n")


def write_arrays(units: int) -> None:
    """Write one object of arrays."""
    current = None
    sys.stdout.buffer.write(b"{")
    for kind, member in iter_members(units):
        if kind == current:
            sys.stdout.buffer.write(b",\n")
        else:
            close = b"" if current is None else b"],\n"
            sys.stdout.buffer.write(close + b'"%ss":[\n' % kind.encode())
            current = kind
        sys.stdout.buffer.write(orjson.dumps(member))
    sys.stdout.buffer.write(b"]}\n" if current else b"}\n")


@click.command()
@click.option("--units", type=click.IntRange(0), default=1_000_000, show_default=True)
@click.option("--form", type=click.Choice(["lines", "arrays"]), default="lines", show_default=True)
def main(units: int, form: str) -> None:
    """Write a bundle to standard output."""
    {"lines": write_lines, "arrays": write_arrays}[form](units)


if __name__ == "__main__":
    main()
