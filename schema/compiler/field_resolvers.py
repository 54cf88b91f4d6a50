"""Call the resolver of a field once for all objects of a level."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphql import GraphQLError, GraphQLSchema

from resolvers.request.batching import batch_resolver_of
from resolvers.request.limits.threads import run_in_thread
from resolvers.request.listing import first_page_of
from schema.compiler.document_rows import DocumentList
from schema.compiler.joined_lists import find_joined_list
from schema.compiler.runtime import RunInfo, settle_all
from schema.compiler.selection import SelectedField, Selection, UnsupportedQueryError
from schema.compiler.variable_coercion import build_arguments
from schema.permissions import requirement_of


class FieldResolver:
    """The resolver of one selected field, with the builder of its arguments."""

    def __init__(
        self, selected: SelectedField, schema: GraphQLSchema, documents: DocumentList | None
    ) -> None:
        """Raises UnsupportedQueryError."""
        resolver = selected.field.base_resolver
        assert resolver is not None
        self.number = selected.number
        self.requirement = requirement_of(selected.definition)
        self._build_arguments = build_arguments(selected, schema)
        self._resolve_many = batch_resolver_of(resolver.wrapped_func)
        self._is_async = resolver.is_async
        self._call = build_call(selected)
        self.documents = documents
        """How the list is read as documents; None if its pages have records."""
        self._find_first_page = first_page_of(resolver.wrapped_func)
        self.joined_list: FieldResolver | None = None
        """The list that is read with the record that this field gets."""

    async def __call__(self, run: RunInfo, parents: Sequence[Any]) -> Sequence[Any]:
        """Return a value for each parent; exceptions of single parents are among the values."""
        if self.documents is not None:
            run = run.reading_documents(self.documents.fields)
        arguments: dict[str, Any] = {}
        if self._build_arguments is not None:
            if run.has_large_variables:
                arguments = await run_in_thread(self._build_arguments, run.variables)
            else:
                arguments = self._build_arguments(run.variables)
        if self._resolve_many is not None:
            return await self._resolve_many(parents, info=run, **arguments)
        if self.joined_list is not None and run.context.record_cache is None:
            run = run if run.has_large_variables else self.joined_list.read_with_record(run)
        if self._is_async and len(parents) == 1:  # without the cost of a task
            return [await self._call(parents[0], run, **arguments)]
        return await settle_all([self._resolve_one(run, parent, arguments) for parent in parents])

    def read_with_record(self, run: RunInfo) -> RunInfo:
        """Return the run for the field that gets the record of this list, to read both at once."""
        assert self._find_first_page is not None
        assert self._build_arguments is not None
        try:
            page = self._find_first_page(**self._build_arguments(run.variables))
        except GraphQLError:  # it is the error of the list
            return run
        if page is None:
            return run
        if self.documents is not None:
            request = replace(page.request, document_fields=self.documents.fields)
            page = page._replace(request=request)
        return RunInfo(run.context.with_first_page(page), run.variables)

    async def _resolve_one(self, run: RunInfo, parent: Any, arguments: dict[str, Any]) -> Any:
        value = self._call(parent, run, **arguments)
        return await value if self._is_async else value


def build_call(selected: SelectedField) -> Callable[..., Any | Coroutine[Any, Any, Any]]:
    """Return a function of parent, info and arguments that calls a resolver of one parent.

    Raises UnsupportedQueryError.
    """
    resolver = selected.field.base_resolver
    assert resolver is not None
    if resolver.self_parameter or resolver.root_parameter:
        raise UnsupportedQueryError("a resolver that is a method")
    function: Any = resolver.wrapped_func
    parent_name = resolver.parent_parameter.name if resolver.parent_parameter else None
    info_name = resolver.info_parameter.name if resolver.info_parameter else None

    def call(parent: Any, info: RunInfo, **arguments: Any) -> Any:
        if parent_name is not None:
            arguments[parent_name] = parent
        if info_name is not None:
            arguments[info_name] = info
        return function(**arguments)

    return call


class FieldResolvers:
    """The resolvers of an operation's fields, each built once."""

    def __init__(
        self, schema: GraphQLSchema, document_lists: Mapping[int, DocumentList] | None = None
    ) -> None:
        self._schema = schema
        self.document_lists = document_lists or {}
        """Lists that are read as documents, by the number of their field."""
        self._by_number: dict[int, FieldResolver] = {}

    def get(self, selected: SelectedField) -> FieldResolver:
        """Return the resolver of a field that is resolved per level.

        Raises UnsupportedQueryError.
        """
        resolver = self._by_number.get(selected.number)
        if resolver is None:
            documents = self.document_lists.get(selected.number)
            resolver = FieldResolver(selected, self._schema, documents)
            self._by_number[selected.number] = resolver
        return resolver

    def join_list(self, selection: Selection) -> None:
        """Have a query of one record and one list of it read both with one command."""
        if joined := find_joined_list(selection, self._schema.query_type):
            record, listed = map(self.get, joined)
            record.joined_list = listed

    def build_all(self, selection: Selection) -> None:
        """Build the resolvers of all fields, at any depth. Raises UnsupportedQueryError."""
        for selected in selection:
            if not isinstance(selected, SelectedField):
                continue
            if selected.is_resolved_per_level:
                self.get(selected)
            elif selected.field.base_resolver is not None:
                build_call(selected)
            for children in selected.selections:
                self.build_all(children)
