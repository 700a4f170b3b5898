"""Operations of one field that is only read: its resolver is called, its value read, and no executor made.

Most requests ask one question. graphql-core's executor takes it through a dozen calls that find out, each time, what is
known once the operation ran: the field, its resolver, where its arguments come from.

Whatever goes otherwise is graphql-core's. It is told what the resolver returned or raised, and goes on from there: so
nothing is resolved twice, and errors, their paths and their places are its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

from graphql import (
    BREAK,
    FieldNode,
    GraphQLField,
    GraphQLNonNull,
    GraphQLResolveInfo,
    GraphQLResolveInfoHelpers,
    VariableNode,
    Visitor,
    is_required_argument,
    visit,
)
from graphql.execution.values import coerce_argument
from graphql.pyutils import Undefined, gather_with_cancel
from strawberry.execution import optimized_is_awaitable

from graphql_schema.execution.readers import Reader

Resolver: TypeAlias = Callable[..., Any]

_background: set[asyncio.Future[Any]] = set()


class _FromVariable(NamedTuple):
    """An argument that a variable gives. `instead` is what there is without the variable: its default, or nothing."""

    name: str
    variable: str
    instead: dict[str, Any]
    nullable: bool


class Straight:
    """What all requests share for an operation of one field, under the conditions of one plan.

    `info` is what graphql-core told the resolver the first time; of it only what every request shares is kept.
    """

    def __init__(
        self,
        info: GraphQLResolveInfo[Any],
        resolve: Resolver,
        read: Reader,
        constants: dict[str, Any],
        variables: Sequence[_FromVariable],
    ) -> None:
        self.key = str(info.path.key)
        self.read = read
        self._resolve = resolve
        self._constants = constants
        self._variables = variables
        # strawberry's own kind of it: a tuple with one more member, and plain variables
        told: Any = info
        self._info = told._replace(variable_values={}, context=None, async_helpers=_HELPERS, operation_extensions=None)

    @classmethod
    def of(cls, info: GraphQLResolveInfo[Any], field: GraphQLField, resolve: Resolver, read: Reader) -> Self | None:
        """None where it takes graphql-core to say what an argument is."""
        try:
            sources = _sources(field, info.field_nodes[0])
        except Exception:  # a default or a literal that is wrong: graphql-core says so
            return None
        return None if sources is None else cls(info, resolve, read, *sources)

    def arguments(self, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        """The resolver's arguments, of coerced variables; None where there is an error to report."""
        found = dict(self._constants)
        for argument in self._variables:
            value = variables.get(argument.variable, Undefined)
            if value is Undefined:
                found |= argument.instead
            elif value is None and not argument.nullable:
                return None
            else:
                found[argument.name] = value
        return found

    async def resolved(
        self,
        arguments: dict[str, Any],
        variables: dict[str, Any],
        context: object,
        extensions: dict[str, Any] | None,
    ) -> Any:
        """What the resolver returns, once it is awaited. Raises what that raises."""
        told = self._info._replace(variable_values=variables, context=context, operation_extensions=extensions)
        return await self._resolve(None, told, **arguments)


def _sources(field: GraphQLField, node: FieldNode) -> tuple[dict[str, Any], list[_FromVariable]] | None:
    """Where a field's arguments come from: those that are the same for all requests, and those of a variable each.

    None if there is another kind: a variable within a list or an object.
    """
    given = {argument.name.value: argument for argument in node.arguments or ()}
    constants: dict[str, Any] = {}
    variables: list[_FromVariable] = []
    for name, definition in field.args.items():
        argument = given.get(name)
        if argument is None or not _has_variable(argument.value):
            coerce_argument(constants, node, name, definition, argument, None, None)
            continue
        if not isinstance(argument.value, VariableNode):
            return None
        instead: dict[str, Any] = {}
        if not is_required_argument(definition):  # else its variable has a value, or an error is reported before
            coerce_argument(instead, node, name, definition, None, None, None)
        nullable = not isinstance(definition.type, GraphQLNonNull)
        own_name = definition.out_name or name
        variables.append(_FromVariable(own_name, argument.value.name.value, instead, nullable))
    return constants, variables


def _has_variable(value: Any) -> bool:
    found = False

    class Variables(Visitor):
        def enter_variable(self, *_: object) -> Any:
            nonlocal found
            found = True
            return BREAK

    visit(value, Variables())
    return found


def _gather(values: Sequence[Awaitable[Any]]) -> Awaitable[list[Any]]:
    return gather_with_cancel(*values)


def _track(values: Sequence[Any]) -> None:
    """Let them come to an end, whatever it is: what an executor does with them."""
    waiting = [value for value in values if optimized_is_awaitable(value)]
    if waiting:
        ending = asyncio.gather(*waiting, return_exceptions=True)
        _background.add(ending)
        ending.add_done_callback(_background.discard)


_HELPERS = GraphQLResolveInfoHelpers(gather=_gather, track=_track)
