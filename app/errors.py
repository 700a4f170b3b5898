"""What the product says when it cannot do what was asked.

    AppError
    ├── Unauthenticated            UNAUTHENTICATED
    ├── Forbidden                  FORBIDDEN
    ├── NotFound                   NOT_FOUND
    ├── InvalidInput               INVALID_INPUT              names the argument
    ├── IndexNotReady              INDEX_NOT_READY            names the state and the remedy
    ├── AuthorizationUnavailable   AUTHORIZATION_UNAVAILABLE  retryable
    │   └── AuthorizerMisconfigured   the same code, not retryable: an operator must act
    ├── Unavailable                UNAVAILABLE                retryable: the database, or what else we depend on
    ├── TimedOut                   TIMEOUT                    retryable
    ├── QueryTooComplex            QUERY_TOO_COMPLEX
    ├── PersistedQueryNotFound     PERSISTED_QUERY_NOT_FOUND      as Apollo's clients expect them (docs/schema.md)
    └── PersistedQueryNotSupported PERSISTED_QUERY_NOT_SUPPORTED

Every message is written for the caller: it holds no SQL, no path, and nothing that the caller may not know.
Anything that is not an AppError is a fault of ours and leaves as INTERNAL, masked (SPEC R22).
"""

from typing import ClassVar


class AppError(Exception):
    """An expected refusal. `code` and `retryable` are the class's; the rest is told where it helps."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def extensions(self) -> dict[str, object]:
        """The entries of a GraphQL error's `extensions` (SPEC R22)."""
        return {"code": self.code, "retryable": self.retryable}


class Unauthenticated(AppError):
    code = "UNAUTHENTICATED"


class Forbidden(AppError):
    code = "FORBIDDEN"


class NotFound(AppError):
    """Hidden and missing are one (SPEC R4): raise it for both, with the same words."""

    code = "NOT_FOUND"

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no such {what}, or you may not see it.")


class InvalidInput(AppError):
    code = "INVALID_INPUT"

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"{argument}: {message}")
        self.argument = argument

    @property
    def extensions(self) -> dict[str, object]:
        return super().extensions | {"argument": self.argument}


class IndexNotReady(AppError):
    """`index_state` is None while the knowledge base has no index yet (SPEC R6)."""

    code = "INDEX_NOT_READY"

    def __init__(self, index_state: str | None, remedy: str) -> None:
        state = "has not been built yet" if index_state is None else f"is {index_state}"
        super().__init__(f"The knowledge base's index {state}. Remedy: {remedy}.")
        self.index_state = index_state
        self.remedy = remedy

    @property
    def extensions(self) -> dict[str, object]:
        return super().extensions | {"indexState": self.index_state, "remedy": self.remedy}


class AuthorizationUnavailable(AppError):
    """The authorizer could not decide. The whole field fails: hits are never dropped quietly (SPEC R12)."""

    code = "AUTHORIZATION_UNAVAILABLE"
    retryable = True

    def __init__(self, message: str = "The authorization service could not decide. Try again.") -> None:
        super().__init__(message)


class AuthorizerMisconfigured(AuthorizationUnavailable):
    """The authorizer refused us: trying again will not help, an operator must act. The log says what to fix."""

    retryable = False

    def __init__(self) -> None:
        super().__init__("The authorization service refused this server. An operator must correct its configuration.")


class Unavailable(AppError):
    code = "UNAVAILABLE"
    retryable = True

    def __init__(self, message: str = "The database is not available. Try again.") -> None:
        super().__init__(message)


class TimedOut(AppError):
    code = "TIMEOUT"
    retryable = True

    def __init__(self) -> None:
        super().__init__("The operation took too long and was stopped. Try again, or ask for less.")


class QueryTooComplex(AppError):
    code = "QUERY_TOO_COMPLEX"


class PersistedQueryNotFound(AppError):
    """Nobody registered a document of this hash. Clients know it by its message, too: it is the protocol's."""

    code = "PERSISTED_QUERY_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("PersistedQueryNotFound")


class PersistedQueryNotSupported(AppError):
    """This server takes no hashes. Clients know it by its message, too: it is the protocol's."""

    code = "PERSISTED_QUERY_NOT_SUPPORTED"

    def __init__(self) -> None:
        super().__init__("PersistedQueryNotSupported")
