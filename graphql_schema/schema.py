"""The schema. Its SDL is committed beside it as schema.graphql; a test compares the two."""

from pathlib import Path

import strawberry
from strawberry.schema.config import StrawberryConfig

from graphql_schema.mutations import Mutation
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
