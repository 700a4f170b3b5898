"""Who is asking."""

import strawberry

from graphql_schema.types.enums import Action


@strawberry.type(name="Viewer", description="The caller, as its token and the workspace's grants say.")
class ViewerType:
    subject: str = strawberry.field(description="`user:…` or `agent:…`.")
    groups: list[str] = strawberry.field(description="The groups that the token names, sorted.")
    workspace: str = strawberry.field(description="The name of the workspace.")
    actions: list[Action] = strawberry.field(
        description="What the caller, or one of its groups, may do on the workspace now."
    )
