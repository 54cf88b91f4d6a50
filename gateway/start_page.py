"""The page at `/` for browsers: where people go on from, without scripts or an API key.

It needs no built pages. Its one style sheet is in the page, and the policy admits it by its hash.
"""

import base64
import hashlib
from typing import Final

from rest.error_codes import ERRORS_PATH

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 44rem; margin: 0 auto; padding: 8vh 20px; }
h1 { margin: 0 0 8px; font-size: 2rem; }
ul { padding: 0; list-style: none; }
li { margin: 20px 0; }
.first a { display: inline-block; padding: 12px 20px; border-radius: 8px; background: #0f766e;
  color: #fff; font-weight: 600; text-decoration: none; }
a:not(.first a) { color: light-dark(#0f766e, #5eead4); }
li span, .first span { display: block; }
.first span { margin-top: 8px; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
START_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

_LINKS: Final = {
    "graphql": ("GraphiQL", "Write and run GraphQL operations."),
    "v1/openapi": ("API reference", "Read about the endpoints of the REST API, and try them."),
    "v1/openapi.json": ("openapi.json", "The description of the REST API for programs."),
    ERRORS_PATH.lstrip("/"): ("Errors", "What each code means, and whether to repeat the request."),
    "v1/bundle.schema.json": ("bundle.schema.json", "The JSON Schema of a catalog to import."),
    "health/ready": ("Health", "Whether the service is ready."),
}
"""Name and purpose by address, relative to this page: a proxy may put a path before it."""


def render_start_page() -> str:
    """Return the page as HTML."""
    items = "\n".join(
        f'<li><a href="{address}">{name}</a><span>{purpose}</span>'
        for address, (name, purpose) in _LINKS.items()
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Floorgate</title><style>{_STYLE}</style>
<main><h1>Floorgate</h1>
<p>An indoor-map and unit-directory service. Reading its data needs an API key, which its operator
gives out.
<p class="first"><a href="maps">Open the map explorer</a>
<span>Find units and amenities on the floors, and the way between them.</span>
<h2>For developers and operators</h2>
<ul>
{items}
</ul>
<p>The guides are in the folder <code>docs</code> of the source of the service. Programs find all
endpoints at <a href="v1">/v1</a>.</main></html>
"""
