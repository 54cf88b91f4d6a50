"""What an import notes: it may be meant, and yet deserves a look."""

from pathlib import Path
from typing import Any

import pytest

from storage import networks
from storage.importing import import_bundles
from tests.storage.catalogs import small, write_arrays

pytestmark = pytest.mark.anyio


async def test_a_map_said_to_be_routable_that_is_not_is_noted(
    database: Any, tmp_path: Path
) -> None:
    said = small()
    said["maps"][0]["tags"] = ["pathfinding"]
    bundle = write_arrays(tmp_path / "said.json", said)
    summary = await import_bundles(database, [bundle])
    assert summary.notes == [
        f"{bundle}: $.maps[0].tags: the map is said to be pathfinding, and is not routable here"
        " before it is processed"
    ]
    await networks.publish(database, said["maps"][0]["id"], b"network", {}, [])
    assert (await import_bundles(database, [bundle])).notes == []
