"""What REST and the server around it share: members of a request's scope, limits, and an error.

The handling of a request leaves the members for the access log and the response. Nothing is
imported here, so that the configuration of the server loads quickly.
"""

from typing import Final

MAX_URL_BYTES: Final = 24 * 1024
"""A cursor of 16 KB, which a list in the order of long names may have, and 8 KB of filters."""
MAX_HEADER_BYTES: Final = 32 * 1024

SCOPE_ROUTE = "floorgate.route"
"""Scope member: template of the matched route."""
SCOPE_OPERATION = "floorgate.operation"
"""Scope member: name of the GraphQL operation, as the client or the endpoint gives it."""
SCOPE_COUNTED_AS = "floorgate.counted_as"
"""Scope member: name under which metrics count the request, which no client has invented."""
SCOPE_ERROR_CODES = "floorgate.error_codes"
"""Scope member: codes of the errors in the response."""
SCOPE_FAILURE = "floorgate.failure"
"""Scope member: the class of the exception behind a SERVER_ERROR; absent if there is none."""
SCOPE_IGNORED_PARAMETERS = "floorgate.ignored_parameters"
"""Scope member: header value that names the query parameters that were ignored; absent if none."""
IGNORED_HEADER = "Floorgate-Ignored-Parameters"
SCOPE_DEPRECATION = "floorgate.deprecation"
"""Scope member: the `Deprecation` of the endpoint; absent if it is not deprecated."""
SCOPE_BODY_DIGEST = "floorgate.body_digest"
"""Scope member: SHA-256 of the body as it was read; absent if there is none, or it is large."""
SCOPE_KEEPS_DOCUMENT = "floorgate.keeps_document"
"""Scope member: present if the document of the request is kept as a persisted query."""


class ClientDisconnectedError(Exception):
    """The client closed the connection before its body was complete; no response can be sent."""
