"""Choose places for faults in the product; a fault is a change of the text at its place.

It knows four kinds: a comparison turned, a boundary moved, a condition dropped, a number changed.
cosmic-ray turns no `in`, drops no conditions, and brings SQLAlchemy, aiohttp and eleven more
packages; mutmut leaves out module constants, enums and decorated functions, and runs all mutants
in one process, while many of our tests start processes of their own.
"""

import ast
import random
import re
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

from msgspec import Struct

PACKAGES = ("gateway", "parsing", "resolvers", "rest", "routing", "schema", "storage")
KINDS = ("turned", "moved", "dropped", "constant")
TURNED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
MOVED: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
OPERATOR = re.compile(rb"[\s)]*(<=|>=|==|!=|<|>|not\s+in|in|is\s+not|is)[\s(]*")


class Place(Struct, frozen=True):
    """A place and what a fault writes there."""

    kind: str
    file: str
    line: int
    start: int
    """Counts the bytes of the file, and `column` those of the line."""
    column: int
    old: str
    new: str
    lines: str
    """The whole lines that contain it, to find it again in another version of the file."""

    def faulty(self) -> str:
        """Return the lines with the fault."""
        return _replace(self.lines.encode(), self.column, self)


def choose_places(root: Path, count: int, seed: int) -> list[Place]:
    """Return the same random places for the same code and seed, in equal shares of the kinds."""
    found: dict[str, list[Place]] = {kind: [] for kind in KINDS}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            for place in find_places(file.relative_to(root).as_posix(), file.read_text()):
                found[place.kind].append(place)
    draw = random.Random(seed)
    shares = [len(range(number, count, len(KINDS))) for number in range(len(KINDS))]
    return [
        place
        for kind, share in zip(KINDS, shares, strict=True)
        for place in draw.sample(found[kind], min(share, len(found[kind])))
    ]


def find_places(file: str, source: str) -> list[Place]:
    """Return every place for a fault in a module."""
    finder = _Finder(file, source.encode())
    finder.visit(ast.parse(source))
    return finder.places


def plant(source: str, place: Place) -> str | None:
    """Return the module with the fault, or None if this version of it lacks the place."""
    raw = source.encode()
    start = find_again(raw, place)
    return None if start is None else _replace(raw, start, place)


def find_again(raw: bytes, place: Place) -> int | None:
    """Return where the place starts now: in the same lines, the nearest ones if there are many."""
    lines = re.compile(b"^" + re.escape(place.lines.encode()), re.MULTILINE)
    starts = [match.start() + place.column for match in lines.finditer(raw)]
    return min(starts, key=lambda start: abs(start - place.start), default=None)


def _replace(raw: bytes, start: int, place: Place) -> str:
    end = start + len(place.old.encode())
    return (raw[:start] + place.new.encode() + raw[end:]).decode()


class _Finder(ast.NodeVisitor):
    """Collects the places of a module; skips annotations, and f-strings, which have no columns."""

    def __init__(self, file: str, raw: bytes) -> None:
        self.file, self.raw, self.places = file, raw, list[Place]()
        self.starts = [0, *accumulate(len(line) for line in raw.splitlines(keepends=True))]

    def add(self, kind: str, start: int, end: int, new: str) -> None:
        """Collect one place, with its lines."""
        first, last = (bisect_right(self.starts, offset) for offset in (start, end - 1))
        lines = self.raw[self.starts[first - 1] : self.starts[last]].decode()
        column, old = start - self.starts[first - 1], self.raw[start:end].decode()
        self.places.append(Place(kind, self.file, first, start, column, old, new, lines))

    def drop(self, condition: ast.expr, *values: str) -> None:
        """Replace a condition, unless later code needs a name that it assigns."""
        text = ast.unparse(condition)
        if not any(word in text for word in (":=", "TYPE_CHECKING", "__name__")):
            for value in values:
                self.add("dropped", self._start(condition), self._end(condition), value)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Turn each comparison and move its boundary."""
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            between = self.raw[self._end(left) : self._start(right)]
            if match := OPERATOR.fullmatch(between):
                start, end = (self._end(left) + offset for offset in match.span(1))
                self.add("turned", start, end, TURNED[type(operator)])
                if type(operator) in MOVED:
                    self.add("moved", start, end, MOVED[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Drop each operand."""
        for operand in node.values:
            self.drop(operand, "True" if isinstance(node.op, ast.And) else "False")
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """Make the condition always true, or never; that of `and` and `or` loses an operand."""
        if not isinstance(node.test, ast.BoolOp):
            self.drop(node.test, "True", "False")
        self.generic_visit(node)

    visit_IfExp = visit_If

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Drop the conditions of a comprehension."""
        for condition in node.ifs:
            self.drop(condition, "True")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number."""
        value = node.value
        if type(value) is int:
            self.add("constant", self._start(node), self._end(node), repr(value + 1))
        elif type(value) is float:
            new = value * 2 + 0.001 if value < 0.001 else value * 1.1 + 1
            self.add("constant", self._start(node), self._end(node), repr(new))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Leave out the annotation of what the function returns."""
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave out the annotation."""
        if node.value:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Leave out the annotation of a parameter."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave out f-strings: Python 3.11 does not say where their parts are."""

    def _start(self, node: ast.expr) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset
