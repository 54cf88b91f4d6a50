"""Assign the catalog's floors to the levels of a drawing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from parsing.drawing import Drawing, DrawnLevel
from resolvers.request.errors import InvalidInputError
from routing.plan import Connector


def assign_floors(drawing: Drawing, map_id: str, floor_sorts: Mapping[str, int] | None) -> Drawing:
    """Return the drawing with floor ids as level ids, its levels ordered from the lowest.

    `floor_sorts` maps floor id to `sort`. A level's ordinal becomes its floor's rank by `sort`,
    which tells which floor is higher but not by how much. Without `floor_sorts`, ids are made up.
    Raises InvalidInputError.
    """
    if floor_sorts is None:
        ids = {level.id: f"{map_id}-level-{level.id}" for level in drawing.levels}
        ordinals = {level.id: level.ordinal or 0.0 for level in drawing.levels}
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


def _floor_id_of(level: DrawnLevel, drawing: Drawing, floor_sorts: Mapping[str, int]) -> str:
    if level.floor_id is None and len(drawing.levels) == len(floor_sorts) == 1:
        return next(iter(floor_sorts))
    floor_id = level.floor_id or level.id
    if floor_id in floor_sorts:
        return floor_id
    known = ", ".join(sorted(floor_sorts)) or "none"
    if level.floor_id is None:
        raise InvalidInputError(
            source=f"Level {level.name or level.id!r} does not say which floor it shows: its "
            f"data-tags need floor=<id>; the floors are: {known}"
        )
    raise InvalidInputError(
        source=f"Level {level.name!r} names the floor {floor_id!r}, which the asset does not "
        f"have; its floors are: {known}"
    )


def validate_floor_order(
    connectors: Iterable[Connector], drawing: Drawing, floor_sorts: Mapping[str, int]
) -> None:
    """Raise InvalidInputError for a connector between two floors of equal `sort`."""
    ordinals = {level.id: level.ordinal for level in drawing.levels}
    for connector in connectors:
        by_ordinal: dict[float | None, str] = {}
        for floor_id in connector.entrances:
            other = by_ordinal.setdefault(ordinals[floor_id], floor_id)
            if other != floor_id:
                raise InvalidInputError(
                    source=f"{connector.name or connector.id} joins the floors {other!r} and "
                    f"{floor_id!r}, which both have sort {floor_sorts[floor_id]}; the higher one "
                    "needs the greater sort"
                )
