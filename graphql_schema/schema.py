"""The schema. Its SDL is committed beside it as schema.graphql, its operations as operations.json; tests compare them.

Run as a module it writes both.
"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import strawberry
from graphql import build_schema
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.types.base_scalars import DateTimeDefinition

from graphql_schema.mutations import Mutation
from graphql_schema.operations import OPERATIONS_FILE, operations_json
from graphql_schema.queries import Query
from graphql_schema.subscriptions import Subscription
from graphql_schema.types.upload import SCALARS

SDL_FILE = Path(__file__).with_name("schema.graphql")

MOMENT = replace(
    DateTimeDefinition, description="A moment in ISO 8601, with its time zone: `2026-11-30T16:30:00+00:00`."
)

schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(auto_camel_case=True, scalar_map={**SCALARS, datetime: MOMENT}),
)

if __name__ == "__main__":
    SDL_FILE.write_text(schema.as_str() + "\n")
    OPERATIONS_FILE.write_text(operations_json(build_schema(schema.as_str())))
