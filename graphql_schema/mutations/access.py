"""Giving and taking access."""

from datetime import datetime

import strawberry

from app.access.grants import Action as Granted
from app.inputs import parse_id
from graphql_schema.context import Info
from graphql_schema.mutations.inputs import Input
from graphql_schema.types.enums import Action

SUBJECT = "`user:…`, `agent:…` or `group:…`, with 1 to 200 characters and no white space behind the colon."
SOURCE_ID = "The source, for actions on one source; none for actions on the workspace."


@strawberry.input(
    description="An action for a subject. On a source: its owner or a manager may give it; on the workspace: a manager."
)
class GrantAccessInput:
    subject: str = strawberry.field(description=SUBJECT)
    action: Action = strawberry.field(description="What the subject may do from now on.")
    source_id: strawberry.ID | None = strawberry.field(default=None, description=SOURCE_ID)
    expires_at: datetime | None = strawberry.field(
        default=None, description="Until when, a moment to come with its time zone; null: until it is revoked."
    )


@strawberry.input(description="An action to take away. What an owner may do with its source cannot be taken away.")
class RevokeAccessInput:
    subject: str = strawberry.field(description=SUBJECT)
    action: Action = strawberry.field(description="What the subject may not do any more, from the next retrieval on.")
    source_id: strawberry.ID | None = strawberry.field(default=None, description=SOURCE_ID)


@strawberry.type(description="The grant as it is now.")
class GrantAccessPayload:
    subject: str = strawberry.field(description="Who.")
    action: Action = strawberry.field(description="What.")
    expires_at: datetime | None = strawberry.field(description="Until when; null: until it is revoked.")


@strawberry.type(description="What was taken away.")
class RevokeAccessPayload:
    subject: str = strawberry.field(description="Who.")
    action: Action = strawberry.field(description="What.")


@strawberry.type
class AccessMutations:
    @strawberry.mutation(description="Let a subject do something. An earlier grant of the same action is replaced.")
    async def grant_access(self, info: Info, input: Input[GrantAccessInput]) -> GrantAccessPayload:
        await info.context.services.library.grant_access(
            info.context.caller,
            input.subject,
            Granted(input.action.value),
            None if input.source_id is None else parse_id("sourceId", input.source_id),
            input.expires_at,
        )
        info.context.renew()
        return GrantAccessPayload(subject=input.subject, action=input.action, expires_at=input.expires_at)

    @strawberry.mutation(description="Take an action away from a subject. One that was never given is no error.")
    async def revoke_access(self, info: Info, input: Input[RevokeAccessInput]) -> RevokeAccessPayload:
        await info.context.services.library.revoke_access(
            info.context.caller,
            input.subject,
            Granted(input.action.value),
            None if input.source_id is None else parse_id("sourceId", input.source_id),
        )
        info.context.renew()
        return RevokeAccessPayload(subject=input.subject, action=input.action)
