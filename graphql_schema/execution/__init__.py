"""Executing an operation: what is only read is read column by column, all else is graphql-core's.

Most of an answer is a list of objects whose fields strawberry takes from attributes, or from methods without
arguments. graphql-core spends about 10 µs on each such value; a plan reads the same field of all the objects at once
and looks at their types once. A plan is made from an operation that is remembered, once for each combination of the
variables that its @skip and @include read.

An operation of one such field runs without graphql-core's executor (straight.py).

A reader that meets anything else than a good value (an error, an awaitable, a null that may not be, a value of
another type) reads nothing at all: it raises, and graphql-core does the whole value over. So errors, their paths and
their order, and what a null does to its parents are graphql-core's own. A property or method whose value was refused
is therefore called again.

The methods of graphql-core and strawberry that this leans on are listed in tests/graphql_schema/test_execution.py,
which fails when one of them changes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

from graphql import (
    ArgumentNode,
    DirectiveNode,
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLSchema,
    MiddlewareManager,
    VariableNode,
    Visitor,
    default_field_resolver,
    default_type_resolver,
    execute,
    visit,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.pyutils import AwaitableOrValue, Undefined
from strawberry import Schema
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from graphql_schema.execution.executor import PlannedExecutor
from graphql_schema.execution.plan import Plan
from graphql_schema.execution.resolvers import Resolvers, Told
from graphql_schema.execution.straight import Straight
from graphql_schema.execution.variables import Variables
from graphql_schema.limits import Operation

MAX_PLANS = 64  # of one operation: six variables in conditions


class Execution:
    """Executes one schema's queries and mutations. `fast` False leaves everything to graphql-core."""

    def __init__(self, schema: Schema, *, fast: bool) -> None:
        self._schema: GraphQLSchema = schema._schema  # strawberry has no public name for it
        self._class = schema.execution_context_class
        # An executor or handlers of the schema's own, and delivery in parts, are not what the readers stand for.
        known = self._class is StrawberryGraphQLCoreExecutionContext and not schema.exception_handlers
        in_parts = any(directive.name in {"defer", "stream"} for directive in self._schema.directives)
        self._fast = fast and known and not in_parts
        self._resolvers = Resolvers(schema) if self._fast else None
        self._plans: WeakKeyDictionary[Operation, _Plans] = WeakKeyDictionary()

    def run(
        self,
        operation: Operation,
        context: object,
        variables: dict[str, Any],
        extensions: dict[str, Any] | None = None,
    ) -> AwaitableOrValue[ExecutionResult]:
        """What graphql.execute returns, for an operation that is valid. `variables` are as they came."""
        if self._fast:
            return self._planned(operation, context, variables, extensions)
        return execute(
            self._schema,
            operation.document,
            context_value=context,
            variable_values=variables,
            operation_name=operation.node.name.value if operation.node.name else None,
            is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type]  # a TypeGuard that was typed as bool
            executor_class=self._class,
            operation_extensions=extensions,
        )

    def _planned(
        self, operation: Operation, context: object, variables: dict[str, Any], extensions: dict[str, Any] | None
    ) -> AwaitableOrValue[ExecutionResult]:
        """What Executor.build and graphql.execute do, with what they find out of an operation each time."""
        assert self._resolvers is not None
        plans = self._plans.get(operation)
        if plans is None:
            plans = self._plans[operation] = _Plans(self._schema, operation, self._resolvers)
        values = plans.variables.coerced(variables)
        if isinstance(values, list):
            return ExecutionResult(None, values)
        plan = plans.of(variables)

        def executed(resolvers: MiddlewareManager) -> AwaitableOrValue[ExecutionResult]:
            executor = PlannedExecutor(
                self._schema,
                plans.fragment_definitions,
                plans.fragments,
                None,
                context,
                operation.node,
                values,
                default_field_resolver,
                default_type_resolver,
                default_field_resolver,
                middleware_manager=resolvers,
                is_awaitable=optimized_is_awaitable,
                operation_extensions=extensions,
                plan=plan,
            )
            # nothing here is delivered in parts
            return cast("AwaitableOrValue[ExecutionResult]", executor.execute_operation())

        arguments = None if plan.straight is None else plan.straight.arguments(values.coerced)
        if plan.straight is None or arguments is None:
            return executed(self._resolvers)
        resolved = plan.straight.resolved(arguments, values.coerced, context, extensions)
        return _straight(plan.straight, resolved, executed, Told(self._resolvers))


async def _straight(
    straight: Straight,
    resolved: Awaitable[Any],
    executed: Callable[[Told], AwaitableOrValue[ExecutionResult]],
    told: Told,
) -> ExecutionResult:
    """Reads what the field's resolver returned. What it raised, and what cannot be read, is for an executor."""
    try:
        told.value = await resolved
    except Exception as error:
        told.error = error
    else:
        try:
            return ExecutionResult({straight.key: straight.read([told.value])[0]})
        except Exception:  # noqa: S110  graphql-core finds the reason, and reports it
            pass
    result = executed(told)
    return result if isinstance(result, ExecutionResult) else await result


class _Plans:
    """The plans of one operation, and what else all requests for it share."""

    def __init__(self, schema: GraphQLSchema, operation: Operation, resolvers: Resolvers) -> None:
        self._schema = schema
        self._resolvers = resolvers
        self._switches = _switches(operation)  # the variables that its conditions read
        self.known: dict[tuple[object, ...], Plan] = {}
        self.variables = Variables(schema, operation.node)
        self.fragment_definitions = {
            each.name.value: each for each in operation.document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        self.fragments = {name: FragmentDetails(each) for name, each in self.fragment_definitions.items()}

    def of(self, variables: Mapping[str, object]) -> Plan:
        """A variable that was not sent is not one that is null. What is no boolean is refused before it is used."""
        sent = [variables.get(name, Undefined) for name in self._switches]
        values = tuple([value if value is None or isinstance(value, bool) else Undefined for value in sent])
        plan = self.known.get(values)
        if plan is None:
            plan = Plan(self._schema, self._resolvers)
            if len(self.known) < MAX_PLANS:
                self.known[values] = plan
        return plan


def _switches(operation: Operation) -> tuple[str, ...]:
    names: set[str] = set()

    class Conditions(Visitor):
        def enter_directive(self, node: DirectiveNode, *_: object) -> None:
            if node.name.value in {"skip", "include"}:
                names.update(filter(None, map(_variable, node.arguments or ())))

    visit(operation.document, Conditions())
    return tuple(sorted(names))


def _variable(argument: ArgumentNode) -> str | None:
    return argument.value.name.value if isinstance(argument.value, VariableNode) else None
