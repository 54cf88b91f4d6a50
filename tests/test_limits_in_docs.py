"""Each limit that clients and operators can meet is in the docs, with its value.

The limits are the constants `MAX_…` of the product. A new one goes into `DOCUMENTED`, or into
`INTERNAL` if it bounds only what the service does by itself, such as the size of a cache.
"""

import ast
import dataclasses
from collections.abc import Iterator
from importlib import import_module

import pytest

from gateway.compression import MIN_COMPRESSED_BYTES
from parsing.limits import DEFAULT_LIMITS
from resolvers.processes.cpu_limit import MAX_PARSE_CPU_SECONDS
from resolvers.processes.process_pool import WALL_SECONDS_PER_CPU_SECOND, max_seconds
from rest.endpoint_table import ENDPOINTS
from schema.definitions import cost_of, strawberry_field_of
from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import PRODUCT, ROOT, page, rows, section

DOCUMENTED = {
    "storage/mongo/plans:MAX_EXPLAINED_BYTES": [
        ("explain.md", "## What is run", "more than {:,} bytes has no plan"),
    ],
    "storage/mongo/recorded_database:MAX_COMMANDS": [
        ("explain.md", "# Explaining requests", "in which they were sent, {} at most"),
    ],
    "gateway/server/websocket_protocol:MAX_MESSAGE_BYTES": [
        ("graphql/changes.md", "## Subscriptions", "over {:,} bytes"),
    ],
    "gateway/subscriptions/messages:MAX_ID_CHARACTERS": [
        ("graphql/changes.md", "## Subscriptions", "ids up to {} characters"),
    ],
    "gateway/subscriptions/socket_operations:MAX_OPERATIONS": [
        ("graphql/changes.md", "## Subscriptions", "up to {} operations in progress"),
    ],
    "gateway/subscriptions/operations:MAX_EVENTS_AT_A_TIME": [
        ("decisions/server/subscriptions.md", "# Subscriptions", "executes {} events at a time"),
    ],
    "resolvers/changes:MAX_CHANGES": [
        ("rest/changes.md", "# Following changes", "up to {:,} changes"),
        ("rest.md", "## Limits", "| changes of a response | {:,} |"),
    ],
    "resolvers/administration/imports:MAX_UNDO_BYTES": [
        ("graphql/writing.md", "## Importing and removing", "{:,} bytes"),
    ],
    "resolvers/unit_filters:MAX_RELATED_UNITS": [
        ("graphql/reading.md", "## Finding units", "which at most {:,} units may have"),
    ],
    "resolvers/request/filters:MAX_IDS": [
        ("graphql/reading.md", "## Finding units", "among these, at most {:,};"),
        ("rest.md", "## Limits", "| `ids` of a filter | {:,} |"),
    ],
    "resolvers/request/filters:MAX_SEARCH_CHARACTERS": [
        ("graphql/reading.md", "## Finding units", "at most {} characters and"),
    ],
    "resolvers/request/filters:MAX_SEARCH_WORDS": [
        ("graphql/reading.md", "## Finding units", "characters and {} words"),
    ],
    "storage/records/name_search:MAX_INDEXED_WORDS": [
        ("graphql/reading.md", "## Finding units", "first {} words of a name"),
    ],
    "storage/records/name_search:MAX_WORD_CHARACTERS": [
        ("graphql/reading.md", "## Finding units", "and {} characters of each"),
    ],
    "resolvers/administration/imports:MAX_REMOVED_IDS": [
        ("graphql/writing.md", "## Importing and removing", "up to {:,} ids"),
    ],
    "resolvers/administration/imports:MAX_MIRRORED_ASSETS": [
        ("graphql/writing.md", "## Importing and removing", "up to {:,} assets"),
    ],
    "storage/bundles/changes/change_plan:MAX_LISTED_CHANGES": [
        ("bundles.md", "## The plan", "up to {:,} changes of each kind"),
    ],
    "storage/bundles/changes/shown_values:MAX_VALUE_CHARACTERS": [
        ("bundles.md", "## The plan", "JSON of {} characters at most"),
    ],
    "routing/directions/manoeuvres:MAX_ASIDE_FEET": [
        ("routing.md", "## From route to steps", "A target up to {:.0f} ft beside the walk"),
    ],
    "routing/directions/sentences:MAX_EXACT_FEET": [
        ("routing.md", "## From route to steps", "rounded to ten from {} ft on"),
    ],
    "routing/values:MAX_STEP_NAMES": [
        ("routing.md", "## From route to steps", "have {} names at most"),
    ],
    "resolvers/steps:MAX_UNITS_TO_NAME": [
        ("routing.md", "## From route to steps", "the first {:,} are looked up"),
    ],
    "routing/directions/turns:MAX_CURVE_FEET": [
        ("routing.md", "## From route to steps", "at most {:.0f} ft apart"),
    ],
    "storage/bundles/reading/tables/files/sheets:MAX_SPREADSHEET_BYTES": [
        ("spreadsheets.md", "## Limits", "A file has at most {:,} bytes"),
    ],
    "storage/bundles/reading/tables/files/sheets:MAX_ROWS": [
        ("spreadsheets.md", "## Limits", "at most {:,} rows"),
    ],
    "storage/bundles/reading/tables/files/sheets:MAX_COLUMNS": [
        ("spreadsheets.md", "## Limits", "rows and {} columns"),
    ],
    "storage/bundles/reading/tables/values/cells:MAX_CELL_CHARACTERS": [
        ("spreadsheets.md", "## Limits", "a cell {:,} characters"),
    ],
    "storage/bundles/reading/tables/files/workbook_process:MAX_UNPACKED_BYTES": [
        ("spreadsheets.md", "## Limits", "unpacks to at most {:,} bytes"),
    ],
    "storage/bundles/reading/tables/files/workbook_process:MAX_PARTS": [
        ("spreadsheets.md", "## Limits", "bytes in {:,} parts"),
    ],
    "storage/bundles/reading/tables/files/workbook_process:MAX_MEMORY_BYTES": [
        ("spreadsheets.md", "## Limits", "may take {:,} bytes of memory"),
    ],
    "storage/bundles/reading/tables/files/workbook_process:MAX_CPU_SECONDS": [
        ("spreadsheets.md", "## Limits", "memory and {} seconds of CPU time"),
    ],
    "storage/bundles/reading/tables/files/workbook_process:MAX_CELLS": [
        ("spreadsheets.md", "## Limits", "all sheets together {:,} cells"),
    ],
    "storage/bundles/reading/tables/mapping/files:MAX_MAPPING_BYTES": [
        ("spreadsheets.md", "## Limits", "A mapping file has at most {:,} bytes"),
    ],
    "parsing/archives:MAX_MEMBERS": [
        ("floor-plans.md", "## When a file is wrong", "Archives with more than {:,} files"),
    ],
    "parsing/archives:MAX_UNPACKED_BYTES": [
        ("floor-plans.md", "## When a file is wrong", "files or {:,} bytes unpacked"),
    ],
    "parsing/drawing:MAX_LISTED_FAULTS": [
        ("floor-plans.md", "## When a file is wrong", "lists the first {:,} errors"),
    ],
    "parsing/geo/geojson:MAX_SOURCE_BYTES": [
        ("floor-plans.md", "## When a file is wrong", "files over {:,} bytes"),
    ],
    "parsing/geo/ground:MAX_EXTENT_FEET": [
        ("floor-plans.md", "## When a file is wrong", "more than {:,.0f} ft from the others"),
    ],
    "parsing/geo/ground:MAX_FEATURES": [
        ("floor-plans.md", "## When a file is wrong", "more than {:,} features, each counted once"),
    ],
    "resolvers/plans/shapes:MAX_MEETING_CORNERS": [
        ("floor-plans.md", "## When a file is wrong", "more than {:,} corners in one point"),
    ],
    "routing/space/plan_repair:MAX_NEIGHBOURS": [
        ("floor-plans.md", "## When a file is wrong", "more than {:,} pairs of neighbours"),
    ],
    "routing/groups:MAX_LISTED_PROBLEMS": [
        ("floor-plans.md", "## The report", "the first {:,}, the costliest first"),
    ],
    "routing/groups:MAX_TEXT_CHARS": [
        ("floor-plans.md", "## The report", "Texts over {:,} characters are cut"),
    ],
    "routing/markers:MAX_MARKERS": [
        ("floor-plans.md", "## The report", "A picture has {:,} markers at most"),
    ],
    "routing/report:MAX_LISTED_LOCATIONS": [
        ("floor-plans.md", "## The report", "names the first {:,} of the others"),
    ],
    "parsing/osm/levels:MAX_STOREYS": [
        ("floor-plans.md", "## When a file is wrong", "more than {:,} storeys"),
    ],
    "parsing/svg/geometry/clipping:MAX_TRACED": [
        ("unit-maps.md", "## What is not drawn", "once {:,} characters and corners"),
    ],
    "parsing/svg/style/values:MAX_SUBSTITUTED_CHARS": [
        ("unit-maps.md", "## Limits", "that all `var()` stand for | {:,}"),
    ],
    "parsing/svg/geometry/lengths:MAX_MAGNITUDE": [
        ("unit-maps.md", "## Limits", "numbers of paths and transforms | {:,}"),
    ],
    "parsing/svg/geometry/paths:MAX_PATH_CHARS": [
        ("unit-maps.md", "## Limits", "characters of a path's `d` | {:,}"),
    ],
    "parsing/svg/naming/layer_names:MAX_NAME_CHARACTERS": [
        ("unit-maps.md", "## Limits", "characters of a name that is markup | {:,}"),
    ],
    "parsing/svg/report/drawing_report:MAX_CHECKED_IDS": [
        ("unit-maps.md", "## Warnings", "the first {:,} units and hit areas"),
    ],
    "parsing/svg/style/styles:MAX_STYLE_CHARS": [
        (
            "unit-maps.md",
            "## Limits",
            "what is over it is skipped, with a warning | {:,}",
        ),
    ],
    "parsing/svg/style/nesting:MAX_NESTED_RULES": [
        ("unit-maps.md", "## Limits", "nesting of style rules in others | {:,} |"),
    ],
    "parsing/svg/style/nesting:MAX_JOINED_CHARS": [
        ("unit-maps.md", "## Limits", "of a nested rule, joined with those around it | {:,} |"),
    ],
    "parsing/svg/style/media:MAX_MEDIA_CHARS": [
        (
            "unit-maps.md",
            "## Limits",
            "longer ones do not match, with a warning | {:,}",
        ),
    ],
    "parsing/svg/report/canvas:MAX_TRACED_CHARS": [
        ("unit-maps.md", "## Warnings", "to its end until {:,} characters"),
    ],
    "parsing/svg/report/canvas:MAX_GLANCE_CHARS": [
        ("unit-maps.md", "## Warnings", "`points` of over {} characters is searched"),
    ],
    "parsing/svg/report/drawing_report:MAX_ID_CHARACTERS": [
        ("unit-maps.md", "## Warnings", "an id has over {} characters"),
    ],
    "parsing/svg/report/drawn_shapes:MAX_IMAGE_SHARE": [
        ("unit-maps.md", "### A plan that is a picture", "cover over {:.0%} of the canvas"),
    ],
    "parsing/svg/outcome:MAX_PLACES": [
        ("unit-maps.md", "## Warnings", "the first {} of each cause"),
    ],
    "parsing/svg/outcome:MAX_LISTED_PLACES": [
        ("unit-maps.md", "## Warnings", "asks for, up to {}"),
        ("graphql/maps.md", "## Warnings of a parse", "lists up to {} places"),
    ],
    "parsing/svg/report/picture:MAX_PICTURES": [
        ("command-line.md", "## `floorgate parse FILE.svg...`", "those of the first {}"),
    ],
    "parsing/svg/report/picture:MAX_MARKERS": [
        ("command-line.md", "## `floorgate parse FILE.svg...`", "picture {} markers at most"),
    ],
    "parsing/svg/report/found_elements:MAX_BOXES": [
        ("unit-maps.md", "## Warnings", "its first {} shapes"),
    ],
    "resolvers/shown_units:MAX_WARNINGS": [
        ("bundles.md", "## Fields", "up to {} causes of a drawing"),
    ],
    "resolvers/shown_units:MAX_LEVELS": [
        ("bundles.md", "## Fields", "one of the first {:,} Levels"),
    ],
    "storage/bundles/importing/stale_networks:MAX_LOSS_NOTES": [
        ("bundles.md", "## The plan", "the first {} of these maps"),
    ],
    "storage/bundles/importing/summary:MAX_SOURCE_NOTES": [
        ("bundles.md", "## Fields", "{} notes of an import"),
    ],
    "rest/envelopes:MAX_NAME_CHARACTERS": [
        ("rest/maps.md", "### Warnings of a parse", "over {} characters"),
    ],
    "rest/envelopes:MAX_WARNINGS_HEADER_BYTES": [
        ("rest/maps.md", "### Warnings of a parse", "at most {:,} bytes"),
    ],
    "parsing/svg/style/selectors:MAX_COMPOUNDS": [
        ("unit-maps.md", "## Limits", "in `g.wall > rect` | {:,} |"),
    ],
    "parsing/svg/style/transforms:MAX_TRANSFORM_CHARS": [
        ("unit-maps.md", "## Limits", "characters of a `transform` | {:,}"),
    ],
    "parsing/svg/use_expansion:MAX_NESTED_USES": [
        ("unit-maps.md", "## Limits", "what a `use` refers to | {:,} deep"),
    ],
    "resolvers/plans/connector_joining:MAX_APART_FEET": [
        (
            "floor-plans.md",
            "## What the plan does not show",
            "if it lies within {:.0f} ft of another",
        ),
    ],
    "resolvers/plans/connector_joining:MAX_LIFT_OFFSET_FEET": [
        ("floor-plans.md", "## What the plan does not show", "Lifts that are over {:.0f} ft apart"),
    ],
    "resolvers/plans/connector_joining:MAX_FLIGHT_FEET": [
        ("floor-plans.md", "## What the plan does not show", "over {:.0f} ft apart are not"),
    ],
    "resolvers/plans/footpaths:MAX_BRANCH_FEET": [
        (
            "floor-plans.md",
            "## What the plan does not show",
            "point of interest within {:.0f} ft of it",
        ),
    ],
    "resolvers/plans/tangles:MAX_CROSSINGS": [
        ("floor-plans.md", "## When a file is wrong", "each other in more than {:,} places"),
    ],
    "routing/space/door_moving:MAX_MOVE_FEET": [
        ("floor-plans.md", "## What the plan does not show", "stands within {:.0f} ft of the wall"),
    ],
    "routing/space/shared_edges:MAX_WALL_OPENING_FEET": [
        ("floor-plans.md", "## What the plan does not show", "with a gap of up to {:.0f} ft"),
    ],
    "rest/request_body:MAX_HEADER_BYTES": [
        ("operation.md", "## Connection limits", "max header bytes | {:,}"),
    ],
    "rest/request_body:MAX_URL_BYTES": [
        ("operation.md", "## Connection limits", "max url bytes | {:,}"),
        ("rest.md", "## Limits", "bytes of an address | {:,}"),
    ],
    "resolvers/administration/api_keys:MAX_ASSETS": [
        ("operation.md", "## Keys", "up to {:,} assets"),
    ],
    "storage/administration/api_keys:MAX_OVERLAP_DAYS": [
        ("operation.md", "## Keys", "which may be up to {} days"),
    ],
    "resolvers/administration/audit:MAX_AUDIT_PER_PAGE": [
        ("graphql/writing.md", "## Audit log", "A page holds {:,} records at most"),
    ],
    "storage/mongo/consistency/topology:MAX_SECONDS_WITHOUT_PRIMARY": [
        ("operation.md", "## Health", "for {:,} seconds"),
    ],
    "storage/administration/audit:MAX_LISTED_IDS": [
        ("operation.md", "## Audit log", "with the first {:,} ids"),
        ("operation.md", "## Audit log", "The list of assets ends after {:,}"),
    ],
    "storage/administration/audit:MAX_SHOWN_CHANGES": [
        ("graphql/writing.md", "## Audit log", "its first {:,} changes"),
    ],
    "storage/administration/audit:MAX_SHOWN_IDS": [
        ("graphql/writing.md", "## Audit log", "each change its first {:,} ids"),
        ("operation.md", "## Logs", "the first {:,} ids"),
    ],
    "storage/records/fields:MAX_INT32": [
        ("graphql/errors.md", "## Errors", "must be from 1 to {}"),
    ],
    "schema/execution:MAX_INTERPRETED_COST": [
        ("graphql/limits.md", "## Limits", "graphql-core runs, may cost {:,}"),
    ],
    "gateway/documents/graphql_request:MAX_DOCUMENT_ID_CHARACTERS": [
        ("graphql/documents.md", "## Trusted documents", "at most {:,} letters, digits"),
    ],
    "gateway/documents/persisted_queries:MAX_PERSISTED_QUERIES": [
        ("graphql/documents.md", "## Persisted queries", "{:,} documents of a key"),
    ],
    "gateway/documents/persisted_queries:MAX_PERSISTED_BYTES": [
        ("graphql/documents.md", "## Persisted queries", "{:,} bytes of memory"),
    ],
    "storage/administration/trusted_documents:MAX_TRUSTED_DOCUMENTS": [
        ("graphql/documents.md", "## Trusted documents", "up to {:,} documents"),
    ],
    "gateway/cli/document_files:MAX_MANIFEST_BYTES": [
        ("graphql/documents.md", "## Trusted documents", "A file has at most {:,} bytes"),
    ],
    "gateway/cli/document_files:MAX_LISTED_ERRORS": [
        ("graphql/documents.md", "## Trusted documents", "the first {:,} errors"),
    ],
    "resolvers/drawings/parsed_drawings:MAX_DRAWING_BYTES": [
        ("graphql/maps.md", "## Shapes", "of a drawing with over {:,} bytes"),
    ],
    "resolvers/drawings/geojson:MAX_GEOJSON_DRAWING_BYTES": [
        ("rest/pictures.md", "## Limits", "A drawing may have {:,} bytes"),
    ],
    "resolvers/drawings/drawn_features:MAX_POSITIONS": [
        ("rest/pictures.md", "## Limits", "its shapes {:,} positions"),
    ],
    "resolvers/drawings/georeferencing:MAX_METRES": [
        ("rest/pictures.md", "## Limits", "{:,.0f} metres from the middle"),
    ],
    "resolvers/drawings/picture_files:MAX_PNG_SHAPES": [
        ("rest/pictures.md", "## Limits", "one of over {:,} shapes no PNG"),
    ],
    "resolvers/drawings/picture_files:MAX_PICTURE_HEIGHT": [
        ("rest/pictures.md", "## Limits", "at most {:,} pixels high"),
    ],
    "resolvers/drawings/pictures:MAX_PICTURE_WIDTH": [
        ("rest/pictures.md", "## Pictures", "from 16 to {:,}, by default"),
    ],
    "resolvers/drawings/areas:MAX_UNITED": [
        ("rest/pictures.md", "## Limits", "over {:,} shapes on it"),
    ],
    "resolvers/drawings/areas:MAX_MEETING_EDGES": [
        ("rest/pictures.md", "## Limits", "over {:,} pairs of edges"),
    ],
    "resolvers/drawings/areas:MAX_UNION_WORK": [
        ("rest/pictures.md", "## Limits", "over {:,} pairs of corners"),
    ],
    "gateway/documents/graphql_request:MAX_BODY_BYTES": [
        ("graphql/limits.md", "## Limits", "A request body may have {:,} bytes"),
    ],
    "gateway/server/supervision/orders:MAX_LONG_TASK_SECONDS": [
        ("operation.md", "### Reloading", "two hours ({:,} seconds) at the latest"),
    ],
    "gateway/server/admission:MAX_ARRIVING_BYTES": [
        ("operation.md", "## Connection limits", "together may take {:,} bytes"),
    ],
    "rest/bodies:MAX_UNTYPED_TOKENS": [
        ("rest.md", "## Errors", "more than {:,} commas, colons and opening brackets"),
    ],
    "resolvers/request/input_checks:MAX_REPORTED_ERRORS": [
        ("rest.md", "## Errors", "up to {:,}; what does not exist"),
    ],
    "gateway/documents/graphql_request:MAX_JSON_TOKENS": [
        (
            "graphql/limits.md",
            "## Limits",
            "| `variables` | {:,} | commas, colons and opening brackets",
        ),
    ],
    "storage/attribute_assignments:MAX_VIOLATIONS": [
        ("rest.md", "## Errors", "up to {:,}; what does not exist"),
    ],
    "gateway/server/admission:MAX_KEYLESS_IN_FLIGHT": [
        ("operation.md", "## Connection limits", "a worker works on {} of these at a time"),
    ],
    "gateway/server/admission:MAX_REJECTIONS_PER_SECOND": [
        ("operation.md", "## Connection limits", "At most {:,} requests a second are rejected"),
    ],
    "gateway/server/admission:MAX_REJECTIONS_PER_ADDRESS": [
        ("operation.md", "## Connection limits", "at most {} of an address without a valid key"),
    ],
    "gateway/server/early_rejection:MAX_DELAYED_SECONDS": [
        ("operation.md", "## Connection limits", "has waited {:g} seconds in all is closed"),
    ],
    "gateway/server/websocket_protocol:MAX_FRAMES_WITHOUT_KEY": [
        ("operation.md", "## Connection limits", "or {} before its key is accepted"),
        ("graphql/changes.md", "## Subscriptions", "({} before the key was accepted)"),
    ],
    "gateway/server/websocket_protocol:MAX_FRAGMENTS": [
        ("graphql/changes.md", "## Subscriptions", "a message of over {} fragments"),
    ],
    "rest/parameters:MAX_IGNORED_REPORTED": [
        ("rest.md", "## Unknown and repeated parameters", "The response names up to {} of them"),
    ],
    "rest/parameters:MAX_PARAMETERS": [
        ("rest.md", "## Limits", "| parameters of a query | {:,} |"),
    ],
    "resolvers/attributes:MAX_ASSIGNMENTS": [
        ("rest.md", "## Limits", "| assignments in a body | {:,} |"),
    ],
    "resolvers/networks/archive_files:MAX_FILES_BYTES": [
        ("runbook.md", "## Sizing", "the directory {:,};"),
    ],
    "resolvers/networks/routable_map_cache:MAX_CACHE_BYTES": [
        ("runbook.md", "## Sizing", "A worker holds up to {:,} bytes of them"),
    ],
    "resolvers/closures:MAX_CLOSED": [
        ("rest/distances.md", "## Closures", "Each list has at most {:,} ids"),
        ("rest.md", "## Limits", "| ids in each list of closures | {:,} |"),
    ],
    "resolvers/distances:MAX_PAIRS": [
        ("rest/distances.md", "# Distances", "ask for {:,} pairs at most"),
        ("rest.md", "## Limits", "| pairs of a distance matrix | {:,} |"),
    ],
    "resolvers/locations:MAX_FILTER_CHARACTERS": [
        ("rest.md", "## Tag filters", "and {:,} characters, one of maps"),
    ],
    "resolvers/maps:MAX_TAGS_CHARACTERS": [
        ("rest.md", "## Tag filters", "one of maps at most {:,} characters"),
    ],
    "resolvers/request/arguments:MAX_CURSOR_CHARACTERS": [
        ("rest.md", "## Lists", "`after` of at most {:,} characters"),
    ],
    "storage/records/paging:MAX_TOTAL_COUNT": [
        ("graphql/reading.md", "## Lists", "It counts up to {:,}"),
    ],
    "resolvers/request/limits/budget:MAX_RECORDS_PER_REQUEST": [
        ("graphql/limits.md", "## Limits", "returns {:,} records at most"),
    ],
    "resolvers/processes/cpu_limit:MAX_PARSE_CPU_SECONDS": [
        ("unit-maps.md", "## Limits", "Parsing may take {:.0f} seconds of CPU time"),
        ("operation.md", "## Processes for drawings", "CPU time for a drawing | {:.0f} |"),
    ],
    "resolvers/processes/memory_limit:MAX_TASK_BYTES": [
        ("operation.md", "## Processes for drawings", "memory for a drawing | {:,} (4 GiB)"),
    ],
    "resolvers/processing/pipeline:MAX_PROCESSING_CPU_SECONDS": [
        ("operation.md", "## Processes for drawings", "may take {:.0f} seconds of CPU time and"),
        ("floor-plans.md", "## When a file is wrong", "[{:.0f} seconds of CPU time]"),
    ],
    "resolvers/processes/process_pool:MAX_WAITING": [
        ("operation.md", "## Processes for drawings", "drawings that wait | {:,} per worker"),
    ],
    "resolvers/processes/process_pool:MAX_WAITING_BYTES": [
        ("operation.md", "## Processes for drawings", "drawings that wait | {:,} (128 MiB)"),
    ],
    "resolvers/processes/process_pool:MAX_WAIT_SECONDS": [
        ("operation.md", "## Processes for drawings", "that a drawing waits | {:.0f} |"),
    ],
    "resolvers/processes/worker_process:MAX_IDLE_BYTES": [
        ("operation.md", "## Processes for drawings", "keeps more than {:,} bytes (128 MiB)"),
    ],
    "resolvers/nodes:MAX_NODE_IDS": [
        ("graphql/caching.md", "## Identity", "up to {} records"),
    ],
    "resolvers/reachable:MAX_MINUTES": [
        ("rest/distances.md", "# Distances", "`minutes` is from 0 to {:,}"),
    ],
    "resolvers/reachable:MAX_REACHABLE": [
        (
            "rest/distances.md",
            "# Distances",
            "100 of them, or as many as `limit` says, {:,} at most",
        ),
        ("rest.md", "## Limits", "| locations, and units, of `reachable` | {:,} |"),
    ],
    "resolvers/routes:MAX_CANDIDATES": [
        ("rest/distances.md", "# Distances", "must match fewer than {:,} locations"),
    ],
    "resolvers/nearest:MAX_NEAREST_SOURCES": [
        (
            "graphql/maps.md",
            "## Find the nearest, and measure distances",
            "up to {} waypoints at once",
        ),
    ],
    "resolvers/routes:MAX_NEAREST": [
        ("rest/distances.md", "# Distances", "as `limit` says, {:,} at most"),
        ("rest.md", "## Limits", "| locations of `nearest` | {:,} |"),
    ],
    "routing/network/portals:MAX_DOOR_POINTS": [
        ("routing.md", "## From graph to distances", "on each side of each door there are {}"),
    ],
    "routing/network/portals:MAX_DOOR_PORTALS": [
        ("routing.md", "## From graph to distances", "as a map has {} in all"),
    ],
    "routing/space/walkable:MAX_ONE_WAY_DOORS": [
        ("routing.md", "## From graph to distances", "Above {} doors, the others"),
        ("floor-plans.md", "## The report", "as {} others of the plan are one-way"),
    ],
    "routing/network/coarsening:MAX_COARSE_CORNERS": [
        ("routing.md", "## From space to graph", "simplified to {:,} corners at most"),
    ],
    "routing/network/levels:MAX_EXACT_WORK": [
        ("routing.md", "## From space to graph", "more than {:,} comparisons"),
    ],
    "routing/network/levels:MAX_EXACT_CORNERS": [
        ("routing.md", "## From space to graph", "A level with more than {:,} corners"),
    ],
    "routing/verification:MAX_TESTED_LINES": [
        ("routing.md", "## Before a map is published", "up to {:,} lines of sight"),
    ],
    "routing/search/distance_table:MAX_TABLE_LOCATIONS": [
        ("routing.md", "## From graph to distances", "up to {:,} locations, by id"),
    ],
    "schema/compiler/value_completion:MAX_ERRORS": [
        ("graphql/errors.md", "## Errors", "at most {:,} errors"),
    ],
    "schema/compiler/variable_coercion:MAX_VARIABLE_ERRORS": [
        ("graphql/errors.md", "## Errors", "{:,} of wrong variables"),
    ],
    "schema/interpretation:MAX_INTROSPECTED_FIELDS": [
        ("graphql/limits.md", "## Limits", "Introspection returns {:,} fields at most"),
    ],
    "schema/interpretation:MAX_FIELDS_INTROSPECTED_ALONG": [
        ("graphql/limits.md", "## Limits", "and {:,} in an operation that also reads"),
    ],
    "schema/overlapping_fields:MAX_COMPARED_FIELDS": [
        ("graphql/limits.md", "## Limits", "select more than {:,} fields"),
    ],
    "schema/execution:MAX_ITEMS_WHEN_DENIED": [
        ("graphql/errors.md", "## Errors", "over {:,} objects and list items"),
    ],
    "schema/operations:MAX_NUMBER_DIGITS": [
        ("graphql/limits.md", "## Limits", "`nesting`, `digits` | 100 or more, {:,} |"),
    ],
    "storage/bundles/checking/check_bundles:MAX_CHECK_VIOLATIONS": [
        ("bundles.md", "### Checking without a service", "up to {:,} of them"),
    ],
    "storage/bundles/checking/check_bundles:MAX_LISTED_OWNERS": [
        ("bundles.md", "### Checking without a service", "the first {:,} are listed"),
    ],
    "storage/bundles/reading/parser:MAX_MEMBER_CHARACTERS": [
        ("bundles.md", "## The two forms", "A member has at most {:,} characters"),
    ],
    "storage/bundles/reading/sources:MAX_DRAWING_BYTES": [
        ("bundles.md", "## Fields", "It has at most {:,} bytes"),
    ],
    "storage/bundles/reading/violations:MAX_VIOLATIONS": [
        ("bundles.md", "## Errors", "shows the first {:,} errors by file"),
    ],
    "storage/locations:MAX_COORDINATE": [
        ("bundles.md", "## Fields", "coordinates are at most {:,.0f}"),
        ("rest/distances.md", "# Distances", "Coordinates are at most {:,.0f}"),
    ],
    "storage/records/fields:MAX_ID_CHARACTERS": [
        ("bundles.md", "## Fields", "Ids are opaque text of 1 to {:,} characters"),
        ("rest.md", "## Ids", "strings of 1 to {:,} characters"),
        ("rest.md", "## Limits", "| characters of an id | {:,} |"),
    ],
    "storage/records/fields:MAX_TEXT_CHARACTERS": [
        ("bundles.md", "## Fields", "Other texts have at most {:,} characters"),
        ("rest/distances.md", "# Distances", "names have at most {:,} characters"),
    ],
    "storage/records/location_filter:MAX_TERMS": [
        ("rest.md", "## Tag filters", "A filter of locations has at most {:,} terms"),
        ("rest.md", "## Limits", "| terms of a tag filter | {:,} |"),
    ],
    "storage/records/paging:MAX_PER_PAGE": [
        ("rest.md", "## Lists", "100 by default and {:,} at most"),
        ("rest.md", "## Limits", "| resources of a page (`per-page`) | {:,} |"),
    ],
}
INTERNAL = {
    "gateway/explain/handler:MAX_ERRORS",
    "gateway/explain/values:MAX_CHARACTERS",
    "gateway/explain/values:MAX_LIST",
    "gateway/explain/values:MAX_MEMBERS",
    "gateway/explain/values:MAX_NUMBER",
    "gateway/explain/values:MAX_VALUES",
    "gateway/subscriptions/messages:MAX_REASON_BYTES",
    "gateway/subscriptions/shared_results:MAX_SHARED_BYTES",
    "storage/changes/hub:MAX_EVENTS_IN_PART",
    "storage/changes/hub:MAX_KEPT_EVENTS",
    "storage/changes/hub:MAX_READS_AT_ONCE",
    "storage/changes/reading:MAX_EVENTS_PER_READ",
    "storage/mongo/change_stream:MAX_BATCH_EVENTS",
    "storage/mongo/change_stream:MAX_READ_SECONDS",
    "storage/bundles/removing/unmentioned:MAX_NAMED",
    "storage/bundles/reading/rejected:MAX_KEPT_CHARACTERS",
    "storage/bundles/reading/rejected:MAX_KEPT_MEMBERS",
    "storage/bundles/reading/rejected:MAX_REJECTED_KEYS",
    "storage/bundles/reading/suggestions:MAX_COMPARED_CHARACTERS",
    "storage/bundles/reading/tables/mapping/use:MAX_COMPARED_NAMES",
    "storage/bundles/reading/tables/mapping/use:MAX_MAPPING_HINTS",
    "storage/bundles/reading/tables/mapping/use:MAX_MAPPING_NOTES",
    "storage/bundles/reading/tables/unit_facts:MAX_WRONG_VALUES",
    "storage/bundles/reading/suggestions:MAX_SUGGESTIONS",
    "storage/bundles/reading/parser:MAX_ARRAYS",
    "storage/bundles/reading/violations:MAX_MESSAGE_CHARACTERS",
    "storage/bundles/reading/json_stream:MAX_SPACE_BEFORE",
    "resolvers/shown_units:MAX_LEVEL_CHARACTERS",  # more than an id has
    "resolvers/administration/imports:MAX_KEY_CHARACTERS",  # of three ids, which have limits
    "routing/directions/manoeuvres:MAX_DOOR_TURN_DEGREES",
    "routing/directions/sentences:MAX_SPOKEN_NAMES",
    "routing/directions/turns:MAX_GENTLE_DEGREES",
    "storage/backup/backup_file:MAX_MANIFEST_BYTES",  # of an archive that this service has written
    "storage/backup/backup_file:MAX_PART_BYTES",  # the same
    "resolvers/processes/cpu_limit:MAX_CPU_OVERRUN",
    "resolvers/processes/worker_process:MAX_END_SECONDS",
    "resolvers/processing/pipeline:MAX_ATTEMPTS",
    "resolvers/plans/drawings/door_gaps:MAX_DISTANCE_FEET",
    "resolvers/plans/drawings/door_gaps:MAX_SEGMENTS",
    "resolvers/plans/drawings/parsed_map:MAX_WALL_FEET",
    "resolvers/plans/tangles:MAX_BLOCK_PAIRS",
    "gateway/cli/key_ids:MAX_CANDIDATES",
    "parsing/svg/geometry/areas:MAX_BANDS",
    "parsing/svg/geometry/clipping:MAX_CHORDS",
    "parsing/svg/geometry/dashes:MAX_DASHES",
    "parsing/svg/paint/ancestors:MAX_KEPT",
    "parsing/svg/paint/colors:MAX_COLOR_CHARS",
    "parsing/svg/paint/gradients:MAX_REFERENCES",
    "parsing/svg/paint/patterns:MAX_CHORDS",
    "parsing/svg/paint/patterns:MAX_TILE_CHARS",
    "parsing/svg/paint/servers:MAX_NESTED_PATTERNS",
    "parsing/svg/style/validity:MAX_CHECKED_CHARS",
    "parsing/svg/style/computing:MAX_LINE_CHARS",
    "parsing/svg/style/templates:MAX_TEMPLATES",
    "parsing/svg/style/fonts:MAX_SIZE",
    "parsing/svg/style/media:MAX_NESTED_CONDITIONS",
    "parsing/svg/style/media:MAX_VALUE_CHARS",
    "parsing/svg/style/styles:MAX_NESTED_MEDIA",
    "parsing/svg/style/values:MAX_NESTED_VARIABLES",
    "parsing/svg/style/values:MAX_VALUE_CHARS",
    "gateway/cli/asset_ids:MAX_COMPARED_ASSETS",
    "parsing/drawing:MAX_EXAMPLES",
    "parsing/drawing:MAX_FAULTS",
    "parsing/drawing:MAX_MESSAGE_CHARS",
    "parsing/geo/geojson:MAX_COLLECTION_DEPTH",
    "parsing/plans:MAX_NAMED_FILES",
    "resolvers/request/map_loads:MAX_NETWORKS_LOADED",
    "resolvers/request/map_loads:MAX_REPORTS_PER_COMMAND",
    "routing/diagnosis/joins:MAX_DETAILED_GROUPS",
    "routing/diagnosis/joins:MAX_EXPLAINED_CONNECTORS",
    "routing/diagnosis/names:MAX_LISTED_NAMES",
    "routing/diagnosis/names:MAX_NAME_CHARS",
    "routing/diagnosis/unreached:MAX_MEASURED_PARTS",
    "routing/markers:MAX_TITLES",
    "routing/network/levels:MAX_COARSE_WORK",
    "parsing/svg/geometry/lengths:MAX_CACHED_LENGTHS",
    "parsing/svg/geometry/paths:MAX_CHORDS",
    "parsing/svg/naming/names_as_markup:MAX_SUGGESTIONS",
    "parsing/svg/report/canvas:MAX_CHORDS",
    "parsing/svg/report/drawn_shapes:MAX_CHECKED_LEVELS",
    "parsing/svg/report/drawn_shapes:MAX_LOOKS",
    "parsing/svg/report/drawn_shapes:MAX_STRIDE",
    "parsing/svg/report/pictures:MAX_PICTURES",
    "parsing/svg/report/picture:MAX_NAME_CHARACTERS",
    "parsing/svg/report/picture:MAX_TITLES",
    "parsing/svg/report/pictures:MAX_REFERENCES",
    "parsing/svg/report/unit_groups:MAX_GROUPS",
    "parsing/svg/report/pictures:MAX_STEPS",
    "parsing/svg/report/warnings:MAX_QUOTED_CHARACTERS",
    "parsing/svg/style/cascade:MAX_CACHED_STYLES",
    "parsing/svg/style/matching:MAX_CACHED_MATCHES",
    "resolvers/plans/connector_joining:MAX_COMPARED",
    "resolvers/plans/connector_joining:MAX_LANDING_FEET",
    "resolvers/plans/connector_joining:MAX_STOREY",
    "resolvers/plans/footpaths:MAX_TOUCH_FEET",
    "resolvers/plans/locations:MAX_OUTSIDE_FEET",
    "resolvers/plans/shapes:MAX_FACE_CORNERS",
    "resolvers/plans/translation:MAX_TOUCH_FEET",
    "gateway/cache/fast_path:MAX_ENTRIES",
    "gateway/cache/fast_path:MAX_HEADS",
    "gateway/server/fast_path_protocol:MAX_AWAITED_BODIES",
    "gateway/server/repeated_requests:MAX_REPEATED_REQUESTS",
    "rest/bodies:MAX_REPEATED_BODY_BYTES",
    "gateway/state:MAX_IMPORT_PAUSE_SECONDS",
    "gateway/documents/persisted_queries:MAX_BYTES_OF_ALL_KEYS",
    "resolvers/drawings/parsed_drawings:MAX_READ_DRAWINGS_BYTES",
    "resolvers/drawings/shapes:MAX_CHORDS_OF_CURVE",
    "resolvers/drawings/drawn_features:MAX_CHORDS_OF_CURVE",
    "resolvers/drawings/geojson:MAX_DRAWN_FEATURES_BYTES",
    "storage/georeferences:MAX_LATITUDE",
    "storage/georeferences:MAX_LONGITUDE",
    "storage/georeferences:MAX_ZOOM",
    "storage/cache/trusted_document_cache:MAX_CACHED_DOCUMENTS",
    "storage/cache/trusted_document_cache:MAX_CACHED_DOCUMENT_BYTES",
    "gateway/exchange:MAX_WRITE_BYTES",
    "gateway/compression:MAX_BYTES_IN_EVENT_LOOP",
    "resolvers/request/limits/threads:MAX_THREADS",
    "rest/endpoints:MAX_BYTES_IN_EVENT_LOOP",
    "storage/mongo/files:MAX_BYTES_IN_EVENT_LOOP",
    "rest/endpoints:MAX_ITEMS_IN_EVENT_LOOP",
    "gateway/server/protocol:MAX_EMPTY_BYTES",
    "gateway/server/connections/backpressure:MAX_PIECE_BYTES",
    "gateway/server/connections/connection_table:MAX_COMPARED_CONNECTIONS",
    "gateway/server/connections/listener:MAX_ACCEPTED_AT_ONCE",
    "gateway/server/connections/listener:MAX_LINGERING_REFUSALS",
    "gateway/server/admission:MAX_DELAY_SECONDS",
    "gateway/server/websocket_protocol:MAX_PIECE_BYTES",
    "gateway/server/early_rejection:MAX_DISCARDED_DIGITS",
    "gateway/server/logs:MAX_BACKLOG_LINES",
    "gateway/server/logs:MAX_BATCH_LINES",
    "resolvers/locations:MAX_COUNTED_RECORDS",
    "resolvers/request/filters:MAX_COUNTED_NAMES",
    "storage/records/name_search:MAX_INDEXED_PREFIX",  # longer beginnings are found, too
    "storage/closures:MAX_NAMED",
    "resolvers/networks/restricted_routers:MAX_AVOIDING_BYTES",
    "resolvers/networks/restricted_routers:MAX_CLOSED_BYTES",
    "resolvers/closures:MAX_ATTEMPTS",
    "resolvers/networks/restricted_routers:MAX_ROUTERS_OF_FLOOR",
    "resolvers/nodes:MAX_NODE_ID_CHARACTERS",
    "resolvers/request/errors:MAX_JSON_INTEGER",
    "resolvers/request/context:MAX_KEYS_PER_COMMAND",
    "resolvers/request/listing:MAX_JOINED_RECORDS",
    "resolvers/request/errors:MAX_QUOTED_CHARACTERS",
    "rest/parameters:MAX_DIGITS",
    "routing/network/levels:MAX_SIGHT_AREAS",
    "routing/network/stops:MAX_ROOM_FLOORS",
    "routing/network/views:MAX_BLOCK_ORIGINS",
    "routing/network/walk_graph:MAX_BLOCK_ROWS",
    "routing/picture:MAX_UNSCALED_FEET",
    "routing/search/matrix:MAX_BLOCK_CELLS",
    "routing/search/walks:MAX_TESTED_PAIRS",
    "routing/space/doors:MAX_EXTENSION_FEET",
    "routing/space/doors:MAX_FOUND_EXTENSION_FEET",
    "routing/space/floor:MAX_GUESSED_CORRIDOR_HALF_WIDTH_FEET",
    "routing/verification:MAX_ERROR_FEET",
    "routing/verification:MAX_RELATIVE_ERROR",
    "routing/verification:MAX_TIE_SECONDS",
    "routing/search/distance_table:MAX_ROUNDING_FEET",
    "schema/compiler/coercion:MAX_EXACT_INTEGER",
    "storage/administration/audit:MAX_RECORD_BYTES",
    "storage/pauses:MAX_SLICE_SECONDS",
    "schema/compiler/selection:MAX_FIELDS",
    "schema/compiler/variable_coercion:MAX_ITEMS_IN_EVENT_LOOP",
    "schema/execution:MAX_CACHED_OPERATIONS",
    "schema/execution:MAX_OPERATION_BYTES",
    "schema/compiler/compiled_query:MAX_PLANS",
    "schema/compiler/compiled_query:MAX_CHARACTERS_IN_EVENT_LOOP",
    "schema/execution:MAX_CHARACTERS_IN_EVENT_LOOP",
    "schema/operation_results:MAX_LOGGED_FAILURES",
    "schema/execution_counters:MAX_LINES_PER_INTERVAL",
    "schema/execution_counters:MAX_LOGGED_REASONS",
    "schema/operations:MAX_NUMBER_DIGITS",
    "schema/validation:MAX_VALIDATION_ERRORS",
    "schema/costs/query_size:MAX_REMEMBERED_WALKS",
    "storage/bundles/importing/owners:MAX_OWNERS",
    "storage/bundles/importing/validation:MAX_DOUBTS",
    "storage/bundles/importing/validation:MAX_IDS_IN_NOTE",
    "storage/bundles/reading/batches:MAX_BATCH_CHARACTERS",
    "storage/bundles/reading/batches:MAX_BATCH_MEMBERS",
    "storage/bundles/reading/json_stream:MAX_VALUE_LENGTH",
    "storage/bundles/reading/tables/groups:MAX_NAMES_IN_NOTE",
    "storage/bundles/writing/template:MAX_CHOICE_CHARACTERS",
    "storage/bundles/writing/workbook:MAX_NOTED_CELLS",
    "storage/cache/api_key_cache:MAX_KEYS",
    "storage/cache/bookmarks:MAX_BOOKMARKS",
    "storage/cache/bookmarks:MAX_LISTS",
    "storage/cache/change_table:MAX_CHANGED_TAGS",
    "storage/cache/change_table:MAX_LATEST_CHANGES",
    "storage/cache/read_set:MAX_TAGS",
    "storage/cache/record_cache:MAX_RECORDS",
    "storage/mongo/consistency/read_connections:MAX_READ_CONNECTIONS",
    "storage/records/visibility:MAX_ASSETS_IN_COMMAND",
    "storage/store:MAX_LONG_LISTS",
    "storage/store:MAX_RECORDS_READ_WHOLE",
    "storage/store:MAX_SKIPPED_HERE",
    "storage/store:MAX_UNION_BRANCHES",
    "storage/visible_reads:MAX_SCANNED_RECORDS",
    "storage/visible_reads:MAX_SHARES",
    "storage/visible_reads:MAX_WINDOW_RECORDS",
}
SENTENCES = [(limit, *where) for limit, places in DOCUMENTED.items() for where in places]


def limits() -> Iterator[str]:
    """Every public constant `MAX_…` of the product, as `module:NAME`."""
    for package in PRODUCT:
        for file in sorted((ROOT / package).rglob("*.py")):
            module = file.relative_to(ROOT).with_suffix("").as_posix()
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.Assign | ast.AnnAssign):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = [target.id for target in targets if isinstance(target, ast.Name)]
                    yield from (f"{module}:{name}" for name in names if name.startswith("MAX_"))


@pytest.mark.slow
def test_each_limit_is_documented_or_internal() -> None:
    assert {*limits()} == DOCUMENTED.keys() | INTERNAL


@pytest.mark.parametrize(("limit", "place", "title", "sentence"), SENTENCES, ids=str)
def test_each_sentence_has_the_value_of_the_code(
    limit: str, place: str, title: str, sentence: str
) -> None:
    module, _, name = limit.partition(":")
    value = getattr(import_module(module.replace("/", ".")), name)
    assert sentence.format(value) in " ".join(section(page(place), title).split())


@pytest.mark.parametrize("limit", dataclasses.asdict(DEFAULT_LIMITS).values())
def test_each_limit_of_a_drawing_is_documented(limit: int) -> None:
    assert f"{limit:,}" in section(page("unit-maps.md"), "## Limits")


@pytest.mark.parametrize("limit", sorted({row.body.max_bytes for row in ENDPOINTS if row.body}))
def test_each_limit_of_a_request_body_is_documented(limit: int) -> None:
    assert f"{limit:,}" in section(page("rest.md"), "## Limits")


def test_the_time_within_which_a_drawing_is_answered_is_documented() -> None:
    text = " ".join(section(page("operation.md"), "## Processes for drawings").split())
    wall_seconds = MAX_PARSE_CPU_SECONDS * WALL_SECONDS_PER_CPU_SECOND
    assert f"| seconds of wall time for a drawing | {wall_seconds:.0f}, ten times" in text
    assert f"answered within {max_seconds(MAX_PARSE_CPU_SECONDS):.0f} seconds" in text


def test_the_size_from_which_responses_are_compressed_is_documented() -> None:
    sentence = f"Responses of {MIN_COMPRESSED_BYTES} bytes and more are compressed"
    assert sentence in " ".join(section(page("rest.md"), "## Caching").split())


def test_the_cost_of_each_expensive_field_is_documented() -> None:
    documented = {
        (name.strip("` "), cost)
        for names, cost, *_ in rows(section(page("graphql/limits.md"), "## Limits"))
        for name in names.split(",")
    }
    for type in GRAPHQL_SCHEMA.type_map.values():
        for name, definition in getattr(type, "fields", {}).items():
            cost = cost_of(strawberry_field_of(definition)) if definition.extensions else 0
            assert not cost or (name, f"{cost:,}") in documented
