"""The schema. Its SDL is committed beside it as schema.graphql, its operations as operations.json; tests compare them.

Run as a module it writes both.
"""

from pathlib import Path

import strawberry
from graphql import build_schema
from strawberry.schema.config import StrawberryConfig

from graphql_schema.mutations import Mutation
from graphql_schema.operations import OPERATIONS_FILE, operations_json
from graphql_schema.queries import Query
from graphql_schema.subscriptions import Subscription

SDL_FILE = Path(__file__).with_name("schema.graphql")

schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(auto_camel_case=True),
)

if __name__ == "__main__":
    SDL_FILE.write_text(schema.as_str() + "\n")
    OPERATIONS_FILE.write_text(operations_json(build_schema(schema.as_str())))
