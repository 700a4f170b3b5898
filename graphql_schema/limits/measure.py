"""Walks an operation as execution would, every fragment where it is spread, and stops at the first limit it passes.

A text of a few hundred characters can spread out to 2^100 fields. The walk takes MAX_SELECTIONS steps at most, so a
bomb costs no more than the largest operation that is allowed. It runs before validation, which for some hostile texts
is quadratic; so it takes nothing about the document for granted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    InlineFragmentNode,
    NamedTypeNode,
    OperationDefinitionNode,
    SelectionNode,
    get_introspection_query,
    get_named_type,
    parse,
)

from app.errors import QueryTooComplex
from app.settings import Settings
from graphql_schema.limits.cost import Cost, Variable, size

ABOUT_THE_SCHEMA = frozenset({"__schema", "__type", "__typename"})
MAX_NESTING = 100  # of selection sets, those of fragments too
MAX_INTROSPECTION_DEPTH = 20  # tools send a query 13 to 15 deep, whatever `max_query_depth` is
MAX_DIRECTIVES = 50
MAX_SELECTIONS = 5_000
MAX_UNKNOWN = 50  # validation is thorough: it looks for what else each might have meant
MAX_REPEATS = 1_000  # validation compares every two fields of one name at one place
# How long the schema's own lists are taken to be: nobody knows before, and only the proportions matter.
INTROSPECTED = {
    "types": 50,
    "fields": 6,
    "inputFields": 4,
    "args": 2,
    "enumValues": 4,
    "possibleTypes": 2,
    "interfaces": 2,
}

_SAYS = {
    "depth": "The operation is nested {found} fields deep or more, and {limit} is allowed.",
    "introspection depth": "Introspection is nested {found} fields deep or more, and {limit} is allowed.",
    "nesting": "The operation nests {found} selections or more, and {limit} is allowed.",
    "aliases": "The operation has {found} aliases or more where its fragments are spread, and {limit} are allowed.",
    "directives": "The operation has {found} directives or more, and {limit} are allowed.",
    "selections": "The operation spreads out to {found} selections or more, and {limit} are allowed.",
    "unknown": "The operation has {found} fields or more that the schema has not; after {limit} it is not looked into.",
    "repeats": "Fields of the operation repeat each other's name {found} times or more, and {limit} are allowed.",
    "introspection": "The operation may ask for {found} entries of the schema or more, and {limit} are allowed.",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """An operation within the limits."""

    cost: Cost
    about_the_schema: bool  # nothing but __schema, __type and __typename at the root


class Measure:
    """The limits of one schema under one set of settings."""

    def __init__(self, schema: GraphQLSchema, settings: Settings) -> None:
        self._schema = schema
        self._limits = {
            "depth": settings.max_query_depth,
            "introspection depth": MAX_INTROSPECTION_DEPTH,
            "nesting": MAX_NESTING,
            "aliases": settings.max_query_aliases,
            "directives": MAX_DIRECTIVES,
            "selections": MAX_SELECTIONS,
            "unknown": MAX_UNKNOWN,
            "repeats": MAX_REPEATS,
            "introspection": 2 * _full_introspection(schema),
        }

    def __call__(self, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]) -> Measured:
        """Raises QueryTooComplex, with the first limit that the operation passes."""
        walk = _Walk(self._schema, self._limits, operation, fragments)
        walk.run()
        return Measured(walk.cost, walk.about_the_schema)


@dataclass(slots=True)
class _Names:
    """The response names at one place, and how many fields have asked for each."""

    count: int = 0
    below: dict[str, "_Names"] = field(default_factory=dict)


class _Place(NamedTuple):
    """Where a selection stands."""

    type: GraphQLNamedType | None  # None where the document names what the schema has not
    names: _Names
    depth: int = 0
    nesting: int = 0
    times: int = 1
    variables: tuple[Variable, ...] = ()
    introspecting: bool = False


class _Walk:
    def __init__(
        self,
        schema: GraphQLSchema,
        limits: Mapping[str, float],
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
    ) -> None:
        self.cost = Cost()
        self.about_the_schema = True
        self.found = dict.fromkeys(limits, 0)
        self._schema, self._limits, self._operation, self._fragments = schema, limits, operation, fragments

    def run(self) -> None:
        self._add("directives", len(self._operation.directives or ()))
        root = _Place(self._schema.get_root_type(self._operation.operation), _Names())
        pending = [(selection, root) for selection in self._operation.selection_set.selections]
        while pending:
            selection, place = pending.pop()
            self._add("selections")
            self._add("directives", len(selection.directives or ()))
            selections, inner = self._enter(selection, place)
            if selections:
                self._reach("nesting", inner.nesting)
                pending += [(each, inner) for each in selections]

    def _enter(self, selection: SelectionNode, place: _Place) -> tuple[Sequence[SelectionNode], _Place]:
        """What stands below a selection, and the place of it."""
        if isinstance(selection, FieldNode):
            below = selection.selection_set
            return below.selections if below else (), self._field(selection, place)
        if isinstance(selection, FragmentSpreadNode):
            fragment = self._fragments.get(selection.name.value)
            if fragment is None:
                return (), place
            self._add("directives", len(fragment.directives or ()))
            return fragment.selection_set.selections, self._under(fragment.type_condition, place)
        inline = cast("InlineFragmentNode", selection)
        return inline.selection_set.selections, self._under(inline.type_condition, place)

    def _under(self, condition: NamedTypeNode | None, place: _Place) -> _Place:
        type_ = self._schema.get_type(condition.name.value) if condition else place.type
        return place._replace(type=type_, nesting=place.nesting + 1)

    def _field(self, node: FieldNode, place: _Place) -> _Place:
        name = node.name.value
        introspecting = place.introspecting or name in {"__schema", "__type"}
        self._reach("introspection depth" if introspecting else "depth", place.depth + 1)
        if node.alias:
            self._add("aliases")
        if place.depth == 0 and name not in ABOUT_THE_SCHEMA:
            self.about_the_schema = False
        names = place.names.below.setdefault((node.alias or node.name).value, _Names())
        self._add("repeats", names.count)
        names.count += 1
        inner = place._replace(names=names, depth=place.depth + 1, nesting=place.nesting + 1)
        if introspecting:
            self._add("introspection", place.times)
            return inner._replace(times=place.times * INTROSPECTED.get(name, 1), introspecting=True)
        self.cost.terms[place.variables] += place.times
        return self._sized(node, inner)

    def _sized(self, node: FieldNode, place: _Place) -> _Place:
        """The place below a field: its type, and how many of it there may be."""
        if not isinstance(place.type, (GraphQLObjectType, GraphQLInterfaceType, GraphQLUnionType)):
            return place._replace(type=None)
        definition = self._schema.get_field(place.type, node.name.value)
        if definition is None:
            self._add("unknown")
            return place._replace(type=None)
        times = size(node, definition, self._operation)
        type_ = get_named_type(definition.type)
        if isinstance(times, Variable):
            return place._replace(type=type_, variables=(*place.variables, times))
        return place._replace(type=type_, times=place.times * times)

    def _add(self, what: str, amount: int = 1) -> None:
        self._reach(what, self.found[what] + amount)

    def _reach(self, what: str, found: int) -> None:
        self.found[what] = max(found, self.found[what])
        if found > self._limits[what]:
            raise QueryTooComplex(_SAYS[what].format(found=found, limit=self._limits[what]))


def _full_introspection(schema: GraphQLSchema) -> int:
    """What the query that every tool sends comes to."""
    query = get_introspection_query(
        specified_by_url=True,
        directive_is_repeatable=True,
        schema_description=True,
        input_value_deprecation=True,
    )
    definitions = parse(query).definitions
    fragments = {node.name.value: node for node in definitions if isinstance(node, FragmentDefinitionNode)}
    (operation,) = (node for node in definitions if isinstance(node, OperationDefinitionNode))
    walk = _Walk(schema, dict.fromkeys(_SAYS, float("inf")), operation, fragments)
    walk.run()
    return walk.found["introspection"]
