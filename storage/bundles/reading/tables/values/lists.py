"""Lists in one cell: `a; b`, or `key=value; key=value`.

An item or part that has a separator is in quotes, and quotes in it are written twice.
"""

from collections.abc import Iterator, Sequence

from storage.bundles.reading.tables.values.cells import Cell, CellError, to_text

EMPTY_LIST = "[]"
ITEM_SEPARATOR, PART_SEPARATOR = ";", "="
SEPARATORS = ITEM_SEPARATOR + PART_SEPARATOR + "\r\n"


def split_items(cell: Cell, with_commas: bool = False) -> list[str]:
    """Return the items of a list; line breaks separate items, too. Raises CellError.

    >>> split_items('ils; "a;b"'), split_items("[]"), split_items("ils, mls", with_commas=True)
    (['ils', 'a;b'], [], ['ils', 'mls'])
    """
    text = to_text(cell)
    comma = "," if with_commas and ITEM_SEPARATOR not in text else ""
    return [] if text == EMPTY_LIST else [_unquote(item) for item in _iter_items(text, comma)]


def split_records(cell: Cell) -> list[list[str]]:
    """Return the items of a list, each with its parts. Raises CellError.

    >>> split_records('leisure=gym; "a=b"=c')
    [['leisure', 'gym'], ['a=b', 'c']]
    """
    text = to_text(cell)
    items = [] if text == EMPTY_LIST else [*_iter_items(text)]
    return [[_unquote(part.strip()) for part in _split(item, PART_SEPARATOR)] for item in items]


def join_items(items: Sequence[str]) -> str:
    """Return the text of a cell with a list; `split_items` is its inverse.

    >>> join_items(["ils", "a;b"]), join_items([])
    ('ils; "a;b"', '[]')
    """
    return join_records([[item] for item in items])


def join_records(items: Sequence[Sequence[str]]) -> str:
    """Return the text of a cell with a list of items in parts; `split_records` is its inverse."""
    texts = [PART_SEPARATOR.join(map(_quote, parts)) for parts in items]
    return f"{ITEM_SEPARATOR} ".join(texts) or EMPTY_LIST


def _iter_items(text: str, comma: str = "") -> Iterator[str]:
    for item in _split(text, ITEM_SEPARATOR + "\r\n" + comma):
        if item.strip():
            yield item.strip()


def _split(text: str, separators: str) -> list[str]:
    """Split a text at separators that are not in quotes; quotes begin where a part does."""
    pieces = [""]
    in_quotes, at_start = False, True
    for character in text:
        if in_quotes or character not in separators:
            pieces[-1] += character
        else:
            pieces.append("")
        if character == '"' and (in_quotes or at_start):
            in_quotes = not in_quotes
        elif not in_quotes:
            at_start = character in SEPARATORS + separators or (at_start and character.isspace())
    if in_quotes:
        raise CellError('a quote is not closed; write a quote within quotes twice, as ""')
    return pieces


def _unquote(part: str) -> str:
    if len(part) < 2 or part[0] != '"' or part[-1] != '"':
        return part
    return part[1:-1].replace('""', '"')


def _quote(part: str) -> str:
    is_plain = (
        part.strip() == part
        and part not in ("", EMPTY_LIST)
        and not any(character in part for character in SEPARATORS + '",')
    )
    return part if is_plain else '"' + part.replace('"', '""') + '"'
