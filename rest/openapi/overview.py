"""What a reader of the OpenAPI description needs to know before the first endpoint."""

from typing import Final

DESCRIPTION: Final = """\
Properties, their floors and units, and the interactive maps that show them. The same directory is
a graph at `/graphql`.

**Keys.** Every request needs an API key in the header `API-Key`, or in the query parameter
`api-key`, which browser histories and logs may keep. A key sees the assets that it was given, with
everything that belongs to them; what it cannot see does not exist for it. Some operations need a
permission besides.

**Ids** are opaque strings of 1 to 255 characters, compared exactly. In paths they are
percent-encoded and may hold any character, `/` included.

**Lists** come in pages, ordered by id. `paging.next_url` and `paging.prev_url`, and the header
`Link`, lead to the neighbouring pages with the same filters. A page past the end is empty.

**Copies.** Each response to GET has a strong `ETag`; send it back in `If-None-Match`, and an
unchanged resource is answered with 304 and no body. Responses are compressed for those that accept
zstd or gzip.

**Methods.** HEAD is answered wherever GET is, OPTIONS everywhere with `Allow`; any other method
with 405, `Allow` and the body of an error. An unknown path is 404.

**Errors** are `{"message": ...}`, with `fields` where single inputs are at fault. Unknown query
parameters are ignored; a known one given twice is an error. `X-Request-Id` names the request in
the service's log.

**Experimental** operations may change without notice. They need the header `Experimental-Flags`, a
list of flags separated by commas: `references`, `unit-attributes-resource`, `distances`,
`locations-resource`.

**Versions.** Resources, optional parameters and properties may be added, and properties reordered,
at any time; anything else makes a new version, with another prefix than `/v1`.
"""

TAG_DESCRIPTIONS: Final = {
    "Assets": "Properties.",
    "Floors": "The storeys of an asset.",
    "Units": "Apartments, shops, offices.",
    "Maps": "Interactive floor plans with their backgrounds, level tags and units.",
    "References": "Ids of assets and units in third-party systems.",
    "Unit attributes": "Attributes of units, in groups, and which unit holds which.",
    "Locations": "Places on a map: units, amenities, points of interest.",
    "Distances": "Ways between the locations of a map.",
}
"""What the groups of operations are about, in the order in which they are shown."""

LICENSE: Final = {"name": "MIT License", "identifier": "MIT"}
"""Of the service, as in `LICENSE` and pyproject.toml; the identifier is SPDX's."""
