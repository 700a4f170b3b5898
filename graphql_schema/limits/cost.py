"""What an operation may cost, as a sum that only the values of its variables complete.

A field costs 1. A field that takes `first`, `last` or `limit` costs that many times what stands below it, once more
for each level of such fields: `retrieve(limit: 50) { hits { source { title } } }` costs 1 + 50 * 3.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphql import FieldNode, GraphQLField, IntValueNode, OperationDefinitionNode, ValueNode, VariableNode

from app.errors import QueryTooComplex

SIZES = ("first", "last", "limit")
# No field takes a larger size: it refuses one as INVALID_INPUT before anything below it runs, so no more can be spent.
LARGEST = 100


class Variable(NamedTuple):
    """A size that comes with the request; `otherwise` when it does not, or is no number."""

    name: str
    otherwise: int

    def value(self, variables: Mapping[str, object]) -> int:
        value = variables.get(self.name)
        if isinstance(value, (int, float)) and 1 <= value < 2**31:
            return min(int(value), LARGEST)
        return self.otherwise  # anything below 1 or beyond 32 bits is refused when it is coerced


@dataclass(slots=True)
class Cost:
    """How often each product of variables is to be counted: `{(): 3, (limit,): 20}` is 3 + 20 * limit."""

    terms: dict[tuple[Variable, ...], int] = field(default_factory=lambda: defaultdict(int))

    def total(self, variables: Mapping[str, object]) -> int:
        """In fields, with the values of a request's variables."""
        total = 0
        for factors, count in self.terms.items():
            product = count
            for factor in factors:
                product *= factor.value(variables)
            total += product
        return total

    def check(self, variables: Mapping[str, object], limit: int) -> None:
        """Raises QueryTooComplex when the operation with these variables costs more than `limit`."""
        total = self.total(variables)
        if total > limit:
            raise QueryTooComplex(
                f"The operation may cost {total}, and {limit} is allowed: a field costs 1, and what stands below "
                "first, last or limit costs that many times as much."
            )


def size(node: FieldNode, definition: GraphQLField, operation: OperationDefinitionNode) -> int | Variable:
    """How many times what stands below a field is counted."""
    argument = next((name for name in SIZES if name in definition.args), None)
    if argument is None:
        return 1
    default = _whole(definition.args[argument].default_value)
    given = next((a.value for a in node.arguments or () if a.name.value == argument), None)
    if isinstance(given, VariableNode):
        return _variable(given.name.value, operation, default)
    return _literal(given, default)


def _variable(name: str, operation: OperationDefinitionNode, default: int) -> Variable:
    for definition in operation.variable_definitions or ():
        if definition.variable.name.value == name:
            return Variable(name, _literal(definition.default_value, default))
    return Variable(name, default)


def _literal(node: ValueNode | None, default: int) -> int:
    # digits beyond 32 bits are refused by validation, which says why: they are no size
    value = int(node.value) if isinstance(node, IntValueNode) and len(node.value) <= 10 else 2**31
    return _bounded(value) if value < 2**31 else default


def _whole(value: object) -> int:
    return _bounded(value) if isinstance(value, int) else 1


def _bounded(value: int) -> int:
    return min(max(value, 1), LARGEST)
