"""Keep a copy of an asset's units, attributes and locations in SQLite.

    export FLOORGATE_KEY=fgk_...
    python sync_directory.py https://floorgate.example alder-court directory.sqlite

The first run copies everything, each later one what has changed since. Every step is one
transaction, which also stores where the feed of changes continues. So the script may be stopped at
any time: the next run goes on where this one was.

For a service with a certificate of its own, `SSL_CERT_FILE` names the file with it.
"""

import argparse
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

from floorgate_client import ChangesExpiredError, Floorgate, NotFoundError
from floorgate_client.models import Change

Kind: TypeAlias = Literal["units", "locations", "attribute_assignments"]
Ids: TypeAlias = list[str] | None
Records: TypeAlias = Iterator[tuple[str, str]]
"""Records as JSON, each with what its changes name: its id, or the group of an assignment."""

FLAGS = ["changes", "locations-resource", "unit-attributes-resource"]
PER_PAGE = 1_000
IDS_PER_REQUEST = 20
"""They fit in a URL, however long ids are."""
TABLES = """
    CREATE TABLE IF NOT EXISTS records (kind TEXT, id TEXT, record TEXT);
    CREATE INDEX IF NOT EXISTS by_id ON records (kind, id);
    CREATE TABLE IF NOT EXISTS cursors (cursor TEXT);
    CREATE VIEW IF NOT EXISTS units AS
        SELECT id, record->>'name' AS name, record->>'floor_id' AS floor_id
        FROM records WHERE kind = 'units';
    CREATE VIEW IF NOT EXISTS locations AS
        SELECT id, record->>'name' AS name, record->>'unit_map_id' AS map_id,
            record->>'x' AS x, record->>'y' AS y
        FROM records WHERE kind = 'locations';
    CREATE VIEW IF NOT EXISTS attributes AS
        SELECT id AS group_id, record->>'unit_id' AS unit_id,
            record->>'attribute_id' AS attribute_id
        FROM records WHERE kind = 'attribute_assignments';
"""


def read_units(client: Floorgate, asset: str, ids: Ids) -> Records:
    """Yield the units with these ids, or all."""
    for unit in client.units.list(asset=asset, ids=ids, per_page=PER_PAGE):
        yield unit.id, unit.model_dump_json()


def read_locations(client: Floorgate, asset: str, ids: Ids) -> Records:
    """Yield the locations with these ids, or all, on all maps of the asset."""
    for map in client.maps.list(asset=asset):
        for location in client.maps(map.id).locations.list(ids=ids, per_page=PER_PAGE):
            yield location.id, location.model_dump_json()


def read_assignments(client: Floorgate, asset: str, groups: Ids) -> Records:
    """Yield the attributes of units in these groups, or in all."""
    for group in (each.group_id for each in client.attribute_groups.list()):
        if groups is None or group in groups:
            assignments = client.attribute_groups(group).assignments
            for each in assignments.list(asset=asset, per_page=PER_PAGE):
                yield group, each.model_dump_json()


READERS: dict[Kind, Callable[[Floorgate, str, Ids], Records]] = {
    "units": read_units,
    "locations": read_locations,
    "attribute_assignments": read_assignments,
}


class Copy:
    """The copy of one asset in a database."""

    def __init__(self, database: sqlite3.Connection, client: Floorgate, asset: str) -> None:
        self.database = database
        self.client = client
        self.asset = asset
        database.executescript(TABLES)

    def update(self) -> None:
        """Copy everything, if that has not been done, and apply all changes."""
        [cursor] = self.database.execute("SELECT max(cursor) FROM cursors").fetchone()
        has_more = True
        while has_more:
            batch = self.client.changes.list(after=cursor, asset=self.asset, kinds=[*READERS])
            with self.database:
                if cursor is None:  # of the time before the copy, which may list changes twice
                    self.replace_all(READERS)
                else:
                    self.apply(batch.data)
                self.database.execute("DELETE FROM cursors")
                self.database.execute("INSERT INTO cursors VALUES (?)", [batch.cursor])
            sys.stderr.write(f"{len(batch.data)} changes\n")
            cursor, has_more = batch.cursor, batch.has_more

    def apply(self, changes: list[Change]) -> None:
        """Read again what changes name; what has been removed is not found then."""
        reset = {each.kind for each in changes if each.operation == "reset"}
        self.replace_all(kind for kind in READERS if None in reset or kind in reset)
        for kind in READERS:
            ids = sorted({to_id(each) for each in changes if each.kind == kind and each.record_id})
            for start in range(0, len(ids), IDS_PER_REQUEST):
                self.replace(kind, ids[start : start + IDS_PER_REQUEST])

    def replace_all(self, kinds: Iterable[Kind]) -> None:
        """Copy all records of some kinds again."""
        for kind in kinds:
            self.database.execute("DELETE FROM records WHERE kind = ?", [kind])
            self.insert(kind, READERS[kind](self.client, self.asset, None))

    def replace(self, kind: Kind, ids: list[str]) -> None:
        """Copy the records with these ids again."""
        for id in ids:
            self.database.execute("DELETE FROM records WHERE kind = ? AND id = ?", [kind, id])
        self.insert(kind, READERS[kind](self.client, self.asset, ids))

    def insert(self, kind: Kind, records: Records) -> None:
        """Insert records of a kind."""
        rows = ((kind, id, record) for id, record in records)
        self.database.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)

    def forget(self) -> None:
        """Let the next update copy everything."""
        with self.database:
            self.database.execute("DELETE FROM cursors")


def to_id(change: Change) -> str:
    """Return what to read again: a record by its id, or the assignments of a group."""
    id = change.record_id or ""
    if change.kind != "attribute_assignments":
        return id
    group: str = json.loads(id)[0] if id.startswith("[") else id.split("/")[0]
    return group


def main() -> None:
    """Bring the copy up to date."""
    parser = argparse.ArgumentParser(description="Keep a copy of an asset's directory in SQLite.")
    parser.add_argument("url", help="address of the service")
    parser.add_argument("asset", help="id of the asset")
    parser.add_argument("database", help="file of the copy")
    arguments = parser.parse_args()
    key = os.environ.get("FLOORGATE_KEY") or parser.error("set FLOORGATE_KEY to an API key")
    with Floorgate(arguments.url, key, flags=FLAGS) as client:
        try:
            client.assets.get(arguments.asset)
        except NotFoundError:
            parser.error(f"{arguments.asset} is not the id of an asset that the key sees")
        copy = Copy(sqlite3.connect(arguments.database), client, arguments.asset)
        try:
            copy.update()
        except ChangesExpiredError:  # the last run was too long ago
            copy.forget()
            copy.update()


if __name__ == "__main__":
    main()
