"""The cache of templates, by the shapes of texts: from the second text of a shape on."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import GraphQLSchema

from resolvers.request.caching import Cache
from schema.costs.query_limits import QueryLimits
from schema.operations import InvalidOperationError, Operation, check_size, has_long_number
from schema.parameterised.templates import BoundOperation, Template, make_template
from schema.parameterised.text_shapes import split_text

MAX_SPLIT_CHARACTERS = 4_000
"""A longer text is not split: its shape would be found for each text, and seldom known."""
MAX_LITERALS = 50
"""A text with more has no template: each literal takes a tenth of a millisecond to make one."""
MAX_TEMPLATES = 1_000
MAX_TEMPLATE_BYTES = 8 << 20
"""Memory of all templates, with the code that was generated for them."""
SHAPE_BYTES = 300
"""Memory of an entry, apart from its shape and its template."""
LITERAL_BYTES = 2_000
"""Memory of a literal in a template: a variable, and the code that coerces it."""


class KnownShape(NamedTuple):
    """A shape that a valid query had."""

    shape: str
    template: Template | None = None
    is_final: bool = False
    """Whether its template was made, or there can be none."""


class TemplateCache:
    """Finds the operations of texts that were not sent before, if others of their shape were."""

    def __init__(self, schema: GraphQLSchema, limits: QueryLimits) -> None:
        self._schema = schema
        self._limits = limits
        self._shapes: Cache[str, KnownShape] = Cache(
            max_entries=MAX_TEMPLATES, max_bytes=MAX_TEMPLATE_BYTES, weigh=_weigh
        )

    def bind(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> BoundOperation | None:
        """Return the operation of a text, ready to run; None if it has to be parsed."""
        if len(text) > min(MAX_SPLIT_CHARACTERS, self._limits.characters) or has_long_number(text):
            return None
        split = split_text(text)
        known = split and self._shapes.get(split.shape)
        if split is None or known is None or known.template is None:
            return None
        bound = known.template.bind(text, split, name)
        if bound is None or self.check(bound, variables) is None:
            return None
        if bound.compiled is not None:
            bound.compiled.request_code()
        return bound

    def reweigh(self, bound: BoundOperation) -> None:
        """Count the memory of what was made to run an operation."""
        self._shapes.reweigh(bound.shape)

    def check(self, bound: BoundOperation, variables: Mapping[str, Any]) -> BoundOperation | None:
        """Return an operation, or None if it is over a limit: parsing it brings the error."""
        try:
            check_size(bound, variables, self._limits)
        except InvalidOperationError:
            return None
        return bound

    def learn(self, operation: Operation) -> KnownShape | None:
        """Return what to keep of an operation that was parsed; may be called in any thread.

        A template is made when the shape was seen before: it does not pay for a single text.
        """
        if not operation.is_query or len(operation.text) > MAX_SPLIT_CHARACTERS:
            return None
        split = split_text(operation.text)
        if split is None or len(split.literals) > MAX_LITERALS:
            return None
        known = self._shapes.peek(split.shape, None)
        if known is None:
            return KnownShape(split.shape)
        if known.is_final:
            return None
        template = make_template(self._schema, operation, split)
        return KnownShape(split.shape, template, is_final=True)

    def keep(self, known: KnownShape | None) -> None:
        """Keep what `learn` has returned."""
        if known is not None:
            self._shapes.put(known.shape, known)


def _weigh(shape: str, known: KnownShape) -> int:
    size = SHAPE_BYTES + len(shape)
    if known.template is None:
        return size
    literals = LITERAL_BYTES * len(known.template.parameters)
    return size + literals + known.template.operation.size_bytes
