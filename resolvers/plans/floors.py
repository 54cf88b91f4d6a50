"""Assign the catalog's floors to the levels of a drawing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from parsing.drawing import Drawing, DrawnLevel, NoteCollector
from parsing.osm.tags import find_level_in_name
from resolvers.request.errors import InvalidInputError
from routing.plan import Connector
from storage.bundles.shown_parts import ShownLevel, find_floor_id


def assign_floors(
    drawing: Drawing,
    map_id: str,
    floor_sorts: Mapping[str, int] | None,
    notes: NoteCollector,
) -> Drawing:
    """Return the drawing with floor ids as level ids, its levels ordered from the lowest.

    `floor_sorts` maps floor id to `sort`. A level's ordinal becomes its floor's rank by `sort`,
    which tells which floor is higher but not by how much. Without `floor_sorts`, ids are made up,
    and levels that have no ordinal are numbered. Raises InvalidInputError.
    """
    if floor_sorts is None:
        ids = {level.id: f"{map_id}-level-{level.id}" for level in drawing.levels}
        ordinals = _number_levels(drawing.levels, notes)
    else:
        ids = {level.id: _floor_id_of(level, drawing, floor_sorts) for level in drawing.levels}
        ranks = {sort: rank for rank, sort in enumerate(sorted(set(floor_sorts.values())))}
        ordinals = {level: float(ranks[floor_sorts[floor]]) for level, floor in ids.items()}
    levels = [
        DrawnLevel(ids[level.id], level.name, ordinals[level.id], ids[level.id])
        for level in drawing.levels
    ]
    features = tuple(
        feature._replace(levels=tuple(ids[level] for level in feature.levels))
        for feature in drawing.features
    )
    return replace(
        drawing,
        levels=tuple(sorted(levels, key=lambda level: (level.ordinal or 0.0, level.id))),
        features=features,
        faults=tuple(
            fault._replace(levels=tuple(ids[level] for level in fault.levels if level in ids))
            for fault in drawing.faults
        ),
    )


def _number_levels(levels: Iterable[DrawnLevel], notes: NoteCollector) -> dict[str, float]:
    """Return the ordinal of each level: its own, or if any has none, those that the names say.

    If not all names say another storey, the levels are drawn from the lowest to the highest.
    """
    ordinals = {level.id: level.ordinal for level in levels}
    own = {level_id: ordinal for level_id, ordinal in ordinals.items() if ordinal is not None}
    if len(own) == len(ordinals):
        return own
    named = {level_id: find_level_in_name(level_id) for level_id in ordinals}
    if all(named.values()) and len({*named.values()}) == len(named):
        for level_id, number in named.items():
            notes.add("level numbered by its name", f"{level_id} is {number}")
        return {level_id: float(number) for level_id, number in named.items()}
    if len(ordinals) > 1:
        message = "levels without a number, taken in the order of the drawing from the lowest"
        for level_id in ordinals:
            notes.add(message, level_id)
    return {level_id: float(index) for index, level_id in enumerate(ordinals)}


def _floor_id_of(level: DrawnLevel, drawing: Drawing, floor_sorts: Mapping[str, int]) -> str:
    shown = ShownLevel(level.id, level.floor_id, level.is_numbered)
    floor_id = find_floor_id(shown, floor_sorts, is_only_level=len(drawing.levels) == 1)
    if floor_id is not None:
        return floor_id
    known = ", ".join(sorted(floor_sorts)) or "none"
    if not level.floor_id:
        name = level.name or level.id
        raise InvalidInputError(
            source=f"Level {name!r} does not say which floor it shows: its data-tags need "
            f"floor=<id>, or its name, as in 'Level 2: floor=<id>'; the floors are: {known}"
        )
    raise InvalidInputError(
        source=f"Level {level.name!r} names the floor {level.floor_id!r}, which the asset does not "
        f"have; its floors are: {known}"
    )


def order_storeys(
    connectors: Iterable[Connector],
    drawing: Drawing,
    floor_sorts: Mapping[str, int] | None,
    notes: NoteCollector,
) -> Iterator[Connector]:
    """Yield the connectors that join storeys one above another.

    One between two levels of the same ordinal would be a ride of no length. Raises
    InvalidInputError if these are floors of the catalog, which say so by mistake.
    """
    ordinals = {level.id: level.ordinal for level in drawing.levels}
    for connector in connectors:
        by_ordinal: dict[float | None, str] = {}
        for floor_id in connector.entrances:
            other = by_ordinal.setdefault(ordinals[floor_id], floor_id)
            if other != floor_id and floor_sorts is not None:
                raise InvalidInputError(
                    source=f"{connector.name or connector.id} joins the floors {other!r} and "
                    f"{floor_id!r}, which both have sort {floor_sorts[floor_id]}; the higher one "
                    "needs the greater sort"
                )
        if len(by_ordinal) == len(connector.entrances):
            yield connector
        else:
            notes.add("left out, connects levels of the same ordinal", connector.id)
