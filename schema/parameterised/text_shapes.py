"""Split the text of a document into its shape and what differs between texts of that shape.

Two texts of one shape have the same tokens, apart from strings, numbers and the name of the
operation. So if one of them can be parsed, the other can, and the syntax trees differ in no more.
"""

import re
from typing import NamedTuple

STRING, INTEGER, FLOAT = '"', "0", "."
"""What stands for a literal in a shape; none of them is a token."""
NAME = "-"
"""What stands for the name of the operation."""

# Strings with escapes, block strings and long numbers are left out. The last group is a character
# that belongs to no token here.
_TOKEN = re.compile(
    r"""
    [ \t\n\r,\ufeff]* (?: \#[^\n\r\ud800-\udfff]* [ \t\n\r,\ufeff]* )*
    (?:
        ( [_A-Za-z][_0-9A-Za-z]* | [!$&()\[\]{}:=@|] | \.\.\. )
        | ( "[^"\\\x00-\x1f\ud800-\udfff]*"(?!")
          | -?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?(?![._0-9A-Za-z]) )
        | \Z
        | (.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)


class SplitText(NamedTuple):
    """A document without its literals and the name of its operation."""

    shape: str
    literals: list[str]
    """As they are written, in the order of the document."""
    name: str | None
    """The name of the operation, if the document begins with a named query."""


def split_text(text: str) -> SplitText | None:
    """Split a document, or return None if it has a token that is unusual or wrong.

    >>> split_text('query Name { unit(id: "1") { id } } # a comment')
    SplitText(shape='query - { unit ( id : " ) { id } }', literals=['"1"'], name='Name')
    """
    parts: list[str] = []
    literals: list[str] = []
    for token, literal, other in _TOKEN.findall(text):
        if token:
            parts.append(token)
        elif literal:
            literals.append(literal)
            parts.append(kind_of(literal))
        elif other:
            return None
    name = None
    if parts[:1] == ["query"] and parts[1:2] and parts[1].isidentifier():
        name, parts[1] = parts[1], NAME
    return SplitText(" ".join(parts), literals, name)


def kind_of(literal: str) -> str:
    """Return `STRING`, `INTEGER` or `FLOAT`.

    >>> kind_of("1e3") == FLOAT
    True
    """
    if literal[0] == '"':
        return STRING
    return INTEGER if literal.lstrip("-").isdecimal() else FLOAT
