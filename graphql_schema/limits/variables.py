"""The values of variables are coerced one by one, by Python code: their number is limited before that."""

from collections.abc import Mapping

from app.errors import QueryTooComplex

MAX_VALUES = 10_000
MAX_DEPTH = 20


def check_variables(variables: Mapping[str, object]) -> None:
    """Raises QueryTooComplex for more values, or deeper ones, than any operation of ours has use for."""
    level: list[object] = [variables]
    seen = 0
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, (dict, list)):
                seen += len(value)
                if seen > MAX_VALUES:
                    raise QueryTooComplex(f"The variables hold {seen} values or more, and {MAX_VALUES} are allowed.")
                below += value.values() if isinstance(value, dict) else value
        if not below:
            return
        level = below
    raise QueryTooComplex(f"The variables are nested more than {MAX_DEPTH} levels deep.")
