"""A query's text becomes an Operation: parsed, measured, validated once, and remembered."""

from collections import OrderedDict
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    NoFragmentCyclesRule,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from app.errors import QueryTooComplex
from app.settings import Settings
from graphql_schema.errors import RequestErrors
from graphql_schema.limits.cost import Cost
from graphql_schema.limits.measure import Measure

MAX_CHARACTERS = 100_000  # of one document: its strings, names and comments are one token each
MAX_COMMENTS = 1_000
MAX_ERRORS = 20
MAX_OPERATIONS = 256
MAX_REMEMBERED_CHARACTERS = 20_000

RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)  # those that strawberry runs


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Operation:
    """One valid operation of a document. Shared by all requests that send the same text: nothing in it changes."""

    document: DocumentNode
    node: OperationDefinitionNode
    cost: Cost
    about_the_schema: bool

    @property
    def kind(self) -> OperationType:
        return self.node.operation


class Documents:
    """Finds or makes the Operation of a text. Only good ones are remembered, the least recently used leaves first."""

    def __init__(self, schema: GraphQLSchema, settings: Settings) -> None:
        self._schema = schema
        self._max_tokens = settings.max_query_tokens
        self._max_cost = settings.max_query_cost
        self._measure = Measure(schema, settings)
        self._known: OrderedDict[tuple[str, str | None], Operation] = OrderedDict()

    def operation(self, query: str, name: str | None) -> Operation:
        """Raises RequestErrors for a document that is wrong, QueryTooComplex for one that is too much."""
        key = (query, name)
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        made = self._make(query, name)
        if len(query) <= MAX_REMEMBERED_CHARACTERS:
            self._known[key] = made
            if len(self._known) > MAX_OPERATIONS:
                self._known.popitem(last=False)
        return made

    def _make(self, query: str, name: str | None) -> Operation:
        document = self._parse(query)
        node = _chosen(document, name)
        fragments = {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}
        try:
            measured = self._measure(node, fragments)
            measured.cost.check({}, self._max_cost)
        except QueryTooComplex:
            # a cycle of fragments has no end to measure, and is no question of too much
            if cycles := [error for error in validate(self._schema, document, [NoFragmentCyclesRule]) if error.nodes]:
                raise RequestErrors(cycles) from None
            raise
        if errors := validate(self._schema, document, RULES, max_errors=MAX_ERRORS):
            raise RequestErrors(errors)
        return Operation(document, node, measured.cost, measured.about_the_schema)

    def _parse(self, query: str) -> DocumentNode:
        if len(query) > MAX_CHARACTERS:
            raise QueryTooComplex(f"The document has {len(query)} characters, and {MAX_CHARACTERS} are allowed.")
        try:
            return parse(
                query,
                max_lexical_tokens=self._max_tokens,
                max_comments=MAX_COMMENTS,
                allow_empty_selection_sets=False,
            )
        except GraphQLError as error:
            if error.message.endswith("Parsing aborted."):
                raise QueryTooComplex(error.message.removeprefix("Syntax Error: ")) from None
            raise RequestErrors([error]) from None


def _chosen(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """GetOperation of the GraphQL specification, section 6.1: without a name there must be exactly one."""
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if name is not None:
        operations = [node for node in operations if node.name is not None and node.name.value == name]
        if not operations:
            raise RequestErrors([GraphQLError(f"The document has no operation named '{name}'.")])
    elif not operations:
        raise RequestErrors([GraphQLError("The document has no operation.")])
    elif len(operations) > 1:
        raise RequestErrors([GraphQLError("The document has several operations: name one in operationName.")])
    return operations[0]
