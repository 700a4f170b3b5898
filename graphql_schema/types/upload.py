"""The scalar of files that come beside an operation."""

import strawberry
from strawberry.types.scalar import ScalarDefinition

from graphql_schema.http.uploads import Uploaded


def _parse(value: object) -> Uploaded:
    if not isinstance(value, Uploaded):
        raise ValueError("An Upload is a file of a multipart request (graphql-multipart-request-spec).")
    return value


def _serialize(_: object) -> object:
    raise TypeError("an Upload is never answered")


# In the schema's configuration, so that fields are typed by what they hold.
SCALARS: dict[object, ScalarDefinition] = {
    Uploaded: strawberry.scalar(
        name="Upload",
        description="A file beside the operation: a multipart request by graphql-multipart-request-spec, with the "
        "header `GraphQL-Require-Preflight`. Null stands in its place in the variables.",
        parse_value=_parse,
        serialize=_serialize,
    )
}
