"""Complete the descriptions of the schema: shared texts, limits, requirements and costs.

A text stands where a field, an argument or a rule is defined. What follows from the definition is
added here, so that it is true: introspection shows no directives, and clients read descriptions.
"""

from collections.abc import Iterator
from typing import Any

import graphql
from strawberry.schema.schema_converter import GraphQLCoreConverter

from resolvers.nodes import describe_record_field
from resolvers.request import inputs
from schema.definitions import MEANING, cost_of, definition_of, requirement_of, strawberry_field_of

_MAP_UNITS = "in the map's own coordinates"
SHARED = {
    "at": "When it happened.",
    "connectorKind": "The kind of that connector; null if there is none.",
    "connectorName": "The name of that connector, if it has one.",
    "createdAt": "When it was created.",
    "feet": "The length, in feet.",
    "floorId": "Id of the floor that it is on.",
    "id": "Its id.",
    "mode": "The mode of travel.",
    "opacity": "From 0 to 1; null is 1, as in SVG.",
    "seconds": "The time that it takes, in seconds.",
    "updatedAt": "When it was last changed.",
    "x": f"To the right, {_MAP_UNITS}.",
    "y": f"Downwards, {_MAP_UNITS}.",
}
"""Texts of fields that mean the same in every type."""
OWN = {
    "ApiKey.expiresAt": "When it stops working; null if it does not expire.",
    "ApiKey.lastUsedAt": "When it was last used, some minutes late; null if it never was.",
    "ApiKey.name": "Its name in lists of keys.",
    "ApiKey.revokedAt": "When it was revoked; null if it was not.",
    "AuditActor.name": "Name of the key, or of the operator, at that time.",
    "AuditRecord.actor": "Who acted.",
    "AuditRecord.auditId": "Id of the record of the audit log.",
    "AuditRecord.target": "What the operation was called for.",
    "ChangeBatch.data": "The changes, the first one first.",
    "Closable.name": "Its name on the plan, if it has one.",
    "Closable.partId": "Its id, unique among the parts of this kind of one map.",
    "Closures.connectors": "Ids of lifts, stairs, escalators and ramps that are closed.",
    "Closures.doors": "Ids of doors that are closed.",
    "Closures.spaces": "Ids of rooms, corridors and areas that are closed.",
    "DistanceMatrix.sources": "The sources, in the order of the request.",
    "Drawing.height": f"The height of the canvas, {_MAP_UNITS}.",
    "Drawing.levels": "The levels of the drawing, in its order.",
    "Drawing.width": f"The width of the canvas, {_MAP_UNITS}.",
    "DrawingLevel.levelId": "Id of the level in the drawing; null if it has none.",
    "DrawingLevel.tags": "Tags by which clients find the level.",
    "FieldChange.after": "What it will be, shortened as `before` is.",
    "FieldChange.field": "The field, such as `name`.",
    "ImportCatalogPayload.kinds": "How many records of each kind were changed.",
    "ImportedKind.inserted": "How many records are new.",
    "ImportedKind.removed": "How many records were removed.",
    "ImportedKind.unchanged": "How many records were the same already.",
    "MatrixSource.name": "The waypoint's `name` in the request; by default the location's.",
    "MatrixSource.targets": "The targets, in the order of the request.",
    "MatrixTarget.name": "The waypoint's `name` in the request; by default the location's.",
    "NearLocation.location": "The location itself.",
    "NearestFromSource.name": "The waypoint's `name` in the request; by default the location's.",
    "NearUnit.unit": "The unit itself.",
    "ParseWarning.message": "What is wrong, as an English sentence.",
    "Reachable.minutes": "How many minutes away from the start it reaches.",
    "ReachableArea.squareFeet": "The size of the area, in square feet.",
    "RemoveRecordsPayload.kinds": "How many records of each kind were changed.",
    "Route.feet": "The length of the whole route, in feet.",
    "Route.legs": "The walks and passages that it consists of, from its start to its end.",
    "Route.seconds": "The time that the whole route takes, in seconds.",
    "RouteLeg.floorId": "Id of the floor where it starts.",
    "RouteStep.floorId": "Id of the floor where it begins.",
    "RouteStep.toFloorName": "Name of the floor to which the connector leads.",
    "Shape.fillOpacity": "From 0 to 1; null is 1, as in SVG.",
    "Shape.fillRule": "`nonzero` or `evenodd`; null is `nonzero`, as in SVG.",
    "Shape.strokeOpacity": "From 0 to 1; null is 1, as in SVG.",
    "Shape.strokeWidth": "A length of SVG; null is 1, as in SVG.",
    "ShapeBox.height": "Its height, downwards.",
    "ShapeBox.width": "Its width, to the right.",
    "UnitMapParse.map": "The parsed map, as REST returns it.",
    "UnitMapParse.summary": "How much the map has of what.",
}
"""Texts of fields that nothing else describes. Where a resolver is, its docstring does."""


def complete_descriptions(schema: graphql.GraphQLSchema) -> None:
    """Describe every field of a schema, with its limits, requirements and cost.

    What a description was before is kept for the description of REST, which states these otherwise:
    see `meaning_of`.
    """
    for type in schema.type_map.values():
        if type.name.startswith("__"):
            continue
        if isinstance(type, graphql.GraphQLObjectType | graphql.GraphQLInterfaceType):
            for name, field in type.fields.items():
                _complete_field(type.name, name, field)
        elif isinstance(type, graphql.GraphQLInputObjectType):
            for member in type.fields.values():
                _complete_input(member)


def _complete_field(type_name: str, name: str, field: graphql.GraphQLField) -> None:
    meaning = field.description or _find_text(type_name, name, field)
    needs = requirement_of(field).describe()
    cost = cost_of(strawberry_field_of(field))
    costs = f"Counts as {cost} records." if cost else ""
    field.extensions[MEANING] = meaning
    field.description = "\n\n".join(filter(None, (meaning, f"{needs} {costs}".strip())))
    for argument in field.args.values():
        _complete_input(argument)


def _find_text(type_name: str, name: str, field: graphql.GraphQLField) -> str | None:
    definition = strawberry_field_of(field)
    python_name = definition.python_name if definition else name
    return (
        OWN.get(f"{type_name}.{name}")
        or (SHARED[name] if name in ("createdAt", "updatedAt") else None)
        or describe_record_field(type_name, python_name)
        or SHARED.get(name)
    )


def _complete_input(member: graphql.GraphQLArgument | graphql.GraphQLInputField) -> None:
    is_enum = isinstance(graphql.get_named_type(member.type), graphql.GraphQLEnumType)
    limits = [
        sentence
        for rule in definition_of(member).rules
        for sentence in describe_rule(rule)
        if not (is_enum and isinstance(rule, inputs.OneOf | inputs.Each))
    ]
    member.extensions[MEANING] = member.description
    member.description = " ".join(filter(None, (member.description, *limits)))


def describe_rule(rule: inputs.Rule) -> Iterator[str]:
    """Yield what a rule demands in sentences; nothing if only its check can tell.

    >>> [*describe_rule(inputs.Range(1, 100)), *describe_rule(inputs.Items(0, 50, "waypoints"))]
    ['From 1 to 100.', 'At most 50 waypoints.']
    """
    match rule:
        case inputs.Range(minimum, maximum) if maximum == inputs.MAX_INT32:
            yield f"At least {minimum:.0f}."
        case inputs.Range(minimum, maximum):
            yield f"From {minimum:.0f} to {maximum:.0f}."
        case inputs.Length(minimum, maximum):
            yield f"{_describe_number(minimum, maximum)} characters."
        case inputs.Items(minimum, maximum, noun):
            yield f"{_describe_number(minimum, maximum)} {noun}."
        case inputs.OneOf(values=values):
            yield f"One of {_quote(values)}."
        case inputs.Each(inputs.OneOf(values=values)):
            yield f"Each is one of {_quote(values)}."
        case inputs.Each(inputs.Length(minimum, maximum)):
            yield f"{_describe_number(minimum, maximum)} characters each."
        case inputs.Pattern(hint=hint):
            yield f"{hint[0].upper()}{hint[1:]}."
        case inputs.Each(rule) if rule is inputs.ID:
            yield f"1 to {inputs.MAX_ID_CHARACTERS} characters each."
        case _ if rule is inputs.ID:
            yield f"1 to {inputs.MAX_ID_CHARACTERS} characters."
        case _ if rule is inputs.POSITIVE:
            yield "Above 0."


def _describe_number(minimum: int, maximum: int) -> str:
    if minimum == maximum:
        return str(maximum)
    return f"{minimum} to {maximum}" if minimum else f"At most {maximum}"


def _quote(values: tuple[Any, ...]) -> str:
    return ", ".join(f"`{value}`" for value in values)


DRAFT_LOCATIONS = frozenset({"DIRECTIVE_DEFINITION"})
"""Locations that are not in the specification of September 2025, but that graphql-core 3.3 lists.

graphql-core 3.2, and so ariadne-codegen and schemathesis, cannot read a schema that has them.
"""


def complete_directives(schema: graphql.GraphQLSchema) -> None:
    """Describe the arguments of a schema's directives, and leave out locations of drafts."""
    schema.directives = tuple(map(_without_draft_locations, schema.directives))
    for directive in schema.directives:
        definition = directive.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        # strawberry describes the directive, but not these of a directive for schemas.
        for field in getattr(definition, "fields", ()):
            directive.args[field.name].description = field.description


def _without_draft_locations(directive: graphql.GraphQLDirective) -> graphql.GraphQLDirective:
    locations = [each for each in directive.locations if each.name not in DRAFT_LOCATIONS]
    if len(locations) == len(directive.locations):
        return directive
    options: Any = {**directive.to_kwargs(), "locations": locations}
    return graphql.GraphQLDirective(**options)
