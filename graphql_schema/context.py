"""What the resolvers of one operation share. Made anew for each operation; nothing in it outlives one."""

from dataclasses import dataclass, field

from strawberry.types import Info as StrawberryInfo

from app.access.subject import Subject
from app.errors import Unauthenticated
from app.services import Services
from graphql_schema.loaders import Loaders


@dataclass
class Context:
    """`workspace` is the name in the token. `subject` None: no token; only introspection gets that far."""

    services: Services
    subject: Subject | None
    workspace: str | None = None
    loaders: Loaders = field(init=False)

    def __post_init__(self) -> None:
        if self.subject is not None:
            self.renew()

    @property
    def caller(self) -> Subject:
        """Who is asking. Raises Unauthenticated without a token."""
        if self.subject is None:
            raise Unauthenticated("This needs a token: send the header `Authorization: Bearer …`.")
        return self.subject

    def abandon(self) -> None:
        """Nobody waits for this operation any more: stop what it is still loading."""
        if self.subject is not None:
            self.loaders.abandon()

    def renew(self) -> None:
        """Forget what was loaded: after a write, so that its answer shows what it wrote."""
        self.loaders = Loaders(self.services, self.caller)


Info = StrawberryInfo[Context, None]
