"""The GraphQL endpoint: GraphQL over HTTP, and graphql-transport-ws for subscriptions (SPEC R21)."""

from graphql_schema.http.endpoint import GraphQLOverHTTP
from graphql_schema.http.operations import Answer, Caller, Operations
from graphql_schema.http.requests import OperationRequest

__all__ = ["Answer", "Caller", "GraphQLOverHTTP", "OperationRequest", "Operations"]
