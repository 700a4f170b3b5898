"""What one operation may cost, and the memory of the operations that were found good."""

from graphql_schema.limits.documents import Documents, Operation
from graphql_schema.limits.variables import check_variables

__all__ = ["Documents", "Operation", "check_variables"]
