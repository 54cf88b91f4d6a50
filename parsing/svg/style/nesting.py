"""Take rules out of the rules that they are nested in (CSS Nesting 1)."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from parsing.svg.geometry.lengths import Viewport
from parsing.svg.style.media import evaluate_media
from parsing.svg.style.selectors import split_selectors
from parsing.svg.style.styles import BRACES, MEDIA_RULE

MAX_NESTED_RULES: Final = 8
MAX_JOINED_CHARS: Final = 1_000
"""Of the selectors of a nested rule, joined with those around it. Longer ones are skipped."""
JOINED_TO_NAME: Final = re.compile(r"[\w-]&|&[\w-]")
SKIPPED: Final = ""
"""Stands for the selectors of a rule that does not count, and of those in it."""


def flatten_rule(
    selectors: str, body: str, viewport: Viewport, report_unread: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """Iterate over selectors and declarations of a rule and of those inside it, in their order.

    >>> list(flatten_rule("g, a", "fill:red; &.on {fill:lime}", Viewport(9, 9), print))
    [('g, a', 'fill:red'), ('g.on,a.on', 'fill:lime')]
    """
    if "{" not in body:
        yield selectors, body
        return
    stack = [selectors]
    position = 0
    for brace in BRACES.finditer(body):
        if brace[1] is None:
            continue  # it is in quotes
        text, position = body[position : brace.start()], brace.end()
        declarations, _, prelude = text.rpartition(";") if brace[1] == "{" else (text, "", "")
        # An empty rule counts too, so that the number of rules limits the work.
        if stack[-1] and (brace[1] == "}" or declarations.strip()):
            yield stack[-1], declarations
        if brace[1] == "{":
            inner = _enter(stack[-1], prelude.strip(), viewport)
            if inner is None or (inner and len(stack) > MAX_NESTED_RULES):
                report_unread(prelude.strip())
                inner = SKIPPED
            stack.append(inner)
        elif len(stack) > 1:
            stack.pop()
    if stack[-1] and body[position:].strip():
        yield stack[-1], body[position:]


def _enter(outer: str, prelude: str, viewport: Viewport) -> str | None:
    """Return the selectors inside a nested rule, or None if it is not read."""
    if not outer:
        return SKIPPED
    if media := MEDIA_RULE.match(prelude):
        matches = evaluate_media(prelude[media.end() :], viewport)
        return outer if matches else SKIPPED if matches is False else None
    return None if prelude.startswith("@") or not prelude else _join(outer, prelude)


def _join(outer: str, inner: str) -> str | None:
    """Return the selectors of a rule in another, or None if they are not read."""
    outers, inners = split_selectors(outer), split_selectors(inner)
    chars = len(inner) * len(outers) + len(outer) * (len(inners) + inner.count("&"))
    if chars > MAX_JOINED_CHARS or JOINED_TO_NAME.search(inner):
        return None
    return ",".join(
        each.replace("&", one.strip()) if "&" in each else f"{one} {each}"
        for one in outers
        for each in inners
    )
