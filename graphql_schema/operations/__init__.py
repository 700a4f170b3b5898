"""Every root field of the schema as an operation with a name, for clients that speak JSON: the CLI and agents.

Nothing is written down for a single field: a new one is an operation as soon as operations.json is made anew, which
`python -m graphql_schema.schema` does. Subscriptions are not operations. docs/cli.md says the same for clients:

- An operation's name is a room, a dot and the field's name in snake_case; the words of the field's name tell the room.
- Its body has the field's arguments; those of a mutation's `input` in place of `input`.
- Its answer is what the field gives, in full (`graphql_schema.operations.answers` says what that is).
"""

from graphql_schema.operations.catalogue import OPERATIONS_FILE, describe_operations, operations_json

__all__ = ["OPERATIONS_FILE", "describe_operations", "operations_json"]
