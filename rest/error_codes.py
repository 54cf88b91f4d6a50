"""Every code that an error of the API can have: its status, when it occurs, whether to retry.

`docs/rest.md` has the same table, and so has the page that the `docs` of an error leads to.
"""

from html import escape
from typing import Final, NamedTuple

ERRORS_PATH: Final = "/v1/errors"
"""The page that explains the codes; each has its own anchor."""


class ErrorCode(NamedTuple):
    """What a code means."""

    status: int
    when: str
    retry: str


_NO = "no"
_CHANGED = "after a change"
_WAIT = "after `Retry-After`"

ERROR_CODES: Final[dict[str, ErrorCode]] = {
    "BAD_REQUEST": ErrorCode(400, "the body is not JSON, or the request is not HTTP", _NO),
    "MALFORMED_DOCUMENT": ErrorCode(400, "the drawing is not well-formed XML", _NO),
    "FLAG_REQUIRED": ErrorCode(400, "`Experimental-Flags` lacks the flag of the endpoint", _NO),
    "ORIGIN_NOT_ALLOWED": ErrorCode(
        400, "a browser asks for another origin, method or header than is allowed", _NO
    ),
    "UNAUTHENTICATED": ErrorCode(401, "no API key, or more than one", _NO),
    "FORBIDDEN": ErrorCode(403, "the key is unknown, revoked, expired or malformed", _NO),
    "PERMISSION_REQUIRED": ErrorCode(403, "the key lacks the permission of the endpoint", _NO),
    "HTTPS_REQUIRED": ErrorCode(403, "the request reached the proxy without HTTPS", _NO),
    "NOT_FOUND": ErrorCode(404, "there is no such resource, or the key cannot see it", _NO),
    "METHOD_NOT_ALLOWED": ErrorCode(
        405, "the path does not have this method; `Allow` lists those it has", _NO
    ),
    "NOT_ACCEPTABLE": ErrorCode(406, "`Accept` names no media type that GraphQL has", _NO),
    "REQUEST_TIMEOUT": ErrorCode(408, "the headers or the body did not arrive in time", "yes"),
    "PLAN_CHANGED": ErrorCode(
        409, "the change would no longer be the one that was shown", _CHANGED
    ),
    "CHANGES_EXPIRED": ErrorCode(
        410, "the changes after the cursor are no longer known; copy the directory again", _NO
    ),
    "PRECONDITION_FAILED": ErrorCode(
        412, "`If-Match` or `If-None-Match` does not hold; nothing was written", _CHANGED
    ),
    "BODY_TOO_LARGE": ErrorCode(413, "the body is over its limit", _NO),
    "URI_TOO_LONG": ErrorCode(414, "the address is over its limit", _NO),
    "UNSUPPORTED_MEDIA_TYPE": ErrorCode(
        415, "`Content-Type` is not that of the endpoint, or the body is compressed", _NO
    ),
    "INVALID_INPUT": ErrorCode(422, "an input is invalid; `fields` names each", _NO),
    "LIMIT_EXCEEDED": ErrorCode(422, "the request asks for more than is allowed at a time", _NO),
    "REFUSED_DOCUMENT": ErrorCode(422, "the document is well-formed and not accepted", _NO),
    "TOO_MANY_REMOVALS": ErrorCode(422, "the change would remove more than it may", _NO),
    "RATE_LIMITED": ErrorCode(
        429, "too many requests with this key, or without a valid one from this address", _WAIT
    ),
    "HEADERS_TOO_LARGE": ErrorCode(431, "the headers are over their limit", _NO),
    "SERVER_ERROR": ErrorCode(
        500, "an error in the service; its log has the `request_id`", "once, then report it"
    ),
    "NOT_IMPLEMENTED": ErrorCode(501, "the `Transfer-Encoding` is not `chunked`", _NO),
    "SERVICE_UNAVAILABLE": ErrorCode(
        503, "the database cannot be reached, or there is too much work", _WAIT
    ),
    "DEADLINE_EXCEEDED": ErrorCode(
        503, "the request took too long", "with less at a time, after `Retry-After`"
    ),
    "HTTP_VERSION_NOT_SUPPORTED": ErrorCode(505, "the request is not HTTP/1.0 or HTTP/1.1", _NO),
}
"""By code, in the order of their statuses."""


def render_errors_page() -> str:
    """Return the page that explains the codes, as HTML without scripts or styles."""
    # A list and no table, which a phone would have to scroll sideways.
    items = "\n".join(
        f'<dt id="{code}"><a href="#{code}"><code>{code}</code></a> {entry.status}'
        f"<dd>{_to_html(entry.when)}. Repeat the request? {_to_html(entry.retry)}."
        for code, entry in ERROR_CODES.items()
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Errors of the Floorgate API</title>
<h1>Errors</h1>
<p>Each error of the API has a <code>code</code>, which does not change; its <code>message</code>
may. To the operator of the service, name its <code>request_id</code>. All requests are safe to
repeat. <a href="/v1/openapi">API reference</a>
<dl>
{items}
</dl></html>
"""


def _to_html(text: str) -> str:
    r"""Return a text with its `code` marked up.

    >>> _to_html("lacks `If-Match` & more")
    'lacks <code>If-Match</code> &amp; more'
    """
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts)
    )
