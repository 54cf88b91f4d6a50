"""The introduction of the OpenAPI description, and its tags."""

from typing import Final

from schema.definitions import EXPLAIN_PERMISSION, FLAGS
from schema.operation_inputs import MAX_ID_CHARACTERS

DESCRIPTION: Final = f"""\
Properties, their floors and units, and the interactive maps that show them. The same directory is
a graph at `/graphql`.

**Keys.** Every request needs an API key in the header `API-Key`, or in the query parameter
`api-key`, which browser histories and logs may keep. A key sees its assets and what
belongs to them; anything else returns 404 or is left out of lists. Some operations also need a
permission.

**Ids** are opaque strings of 1 to {MAX_ID_CHARACTERS} characters, compared exactly. In paths they
are percent-encoded and may hold any character, `/` included.

**Lists** come in pages, ordered by id. `paging.next_url` and `paging.prev_url`, and the header
`Link`, lead to the next and the previous page with the same filters. A page past the end is empty.

**Caching.** Every response to GET has a strong `ETag`. Send it in `If-None-Match`: the response for
an unchanged resource is 304 without a body. Responses are compressed for clients that accept zstd
or gzip.

**Methods.** HEAD works wherever GET does, OPTIONS everywhere, with `Allow`. Any other method is
405, with `Allow`. An unknown path is 404.

**Errors** have a `message` for people, a `code` that does not change, the `request_id` that is also
in the service's log, and `docs`, the address of [a page](/v1/errors) that explains the code. Those
of invalid inputs have `fields`, from the name of an input to its errors. Unknown query parameters
are ignored; a repeated known one is an error.

**Experimental** operations may change without notice. They need the header `Experimental-Flags`, a
list of flags separated by commas: {", ".join(f"`{flag}`" for flag in FLAGS)}.

**Explanations.** With the header `Floorgate-Explain: true`, the response to any request is how the
service carries it out: the GraphQL operation, requirements, cost, MongoDB commands with their
indexes, and what the caches have. The key needs the permission `{EXPLAIN_PERMISSION}`. Only reads
are run.

**Versions.** Resources, optional parameters and properties may be added, and properties reordered,
at any time; any other change makes a new version, with a prefix other than `/v1`.
"""

TAG_DESCRIPTIONS: Final = {
    "Assets": "Properties.",
    "Floors": "The storeys of an asset.",
    "Units": "Apartments, shops, offices.",
    "Maps": "Interactive floor plans with their backgrounds, level tags and units.",
    "References": "Ids of assets and units in third-party systems.",
    "Unit attributes": "Attributes of units, in groups, and which unit holds which.",
    "Locations": "Places on a map: units, amenities, points of interest.",
    "Changes": "What was created, updated and removed.",
    "Distances": "Distances and routes between the locations of a map.",
}
"""Descriptions of the groups of operations, in their order in the description."""

LICENSE: Final = {"name": "MIT License", "identifier": "MIT"}
"""Of the service, as in `LICENSE` and pyproject.toml (SPDX identifier)."""
