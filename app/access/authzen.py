"""The read check asked of an authorization service that speaks OpenID AuthZEN 1.0 (SPEC R12).

One logical batch is `POST /access/v1/evaluations`, in chunks of the size that the service takes, sent side by side.
An allow and a deny are answers. Everything else is none, and the caller fails rather than guesses.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from uuid import UUID

import httpx2
import orjson

from app.access.outbound import OversizeBodyError, bounded_body, outbound_client
from app.access.subject import Subject
from app.errors import AuthorizationUnavailable, AuthorizerMisconfigured, InvalidInput
from app.settings import Settings

ACTION = "source.read"
MAX_ANSWER_BYTES = 1_000_000
BACKOFF_SECONDS = 0.05

logger = logging.getLogger(__name__)

_REMEDIES = {
    400: "Check GCTL_AUTHZEN_BATCH_SIZE, GCTL_AUTHZEN_SUBJECT_PROPERTIES and GCTL_AUTHZEN_RESOURCE_PROPERTIES.",
    401: "Set GCTL_AUTHZEN_TOKEN to a credential that it accepts.",
    403: "Let the credential in GCTL_AUTHZEN_TOKEN ask for evaluations.",
    404: "Set GCTL_AUTHZEN_URL to the address below which it serves /access/v1/evaluations.",
}
_REDIRECT_REMEDY = "Set GCTL_AUTHZEN_URL to the address that it redirects to; the credential follows no redirect."
_OTHER_REMEDY = "Check GCTL_AUTHZEN_URL and what the service's log says."


class _BusyError(Exception):
    """The service asks to try again: 408, 429 or 5xx."""

    def __init__(self, status: int, retry_after: float | None) -> None:
        super().__init__(f"it answered {status}")
        self.retry_after = retry_after


class _RefusedError(Exception):
    """The service will answer the same again until an operator acts: another 4xx, or a redirect."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")
        self.status = status


class _NonsenseError(Exception):
    """The answer is not one. The message says why and quotes nothing of it."""


class AuthZenAuthorizer:
    """An Authorizer (app.access.authorizers) that asks the service at `authzen_url`.

    Subject `user:ada` is sent as type `user` and id `ada`, with the properties `workspace_id` and `groups` and those
    that the settings add; a source as type `source` and its id, with `workspace_id` and those of the settings.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.authzen_url is None:
            raise ValueError("authzen_url is not set")
        self._url = str(settings.authzen_url).rstrip("/") + "/access/v1/evaluations"
        self._subject_properties = settings.authzen_subject_properties
        self._resource_properties = settings.authzen_resource_properties
        self._deadline = settings.authzen_timeout_seconds
        self._attempts = settings.authzen_attempts
        self._chunk_size = settings.authzen_batch_size
        headers = {"content-type": "application/json"}
        if settings.authzen_token is not None:
            headers["authorization"] = f"Bearer {_header_safe(settings.authzen_token.get_secret_value())}"
        self._client = outbound_client(headers)

    async def check(self, subject: Subject, source_ids: Sequence[UUID]) -> list[bool]:
        """See Authorizer.check. An id that stands twice is asked once. The service, not this server, knows which
        ids exist: a policy that allows them all allows a missing one.
        """
        asked = list(dict.fromkeys(source_ids))
        if not asked:
            return []
        try:
            decisions = dict(zip(asked, await self._ask_in_chunks(subject, asked), strict=True))
        except Exception as error:
            failure = _failure(error)
        else:
            return [decisions[source_id] for source_id in source_ids]
        raise failure  # out here it does not carry the error, whose request holds the credential

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask_in_chunks(self, subject: Subject, source_ids: list[UUID]) -> list[bool]:
        ends = asyncio.get_running_loop().time() + self._deadline
        size = self._chunk_size
        chunks = [source_ids[start : start + size] for start in range(0, len(source_ids), size)]
        async with asyncio.timeout_at(ends), asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ask(subject, chunk, ends)) for chunk in chunks]
        return [decision for task in tasks for decision in task.result()]

    async def _ask(self, subject: Subject, chunk: list[UUID], ends: float) -> list[bool]:
        """One chunk's decisions. What is left of the time is shared out fairly among the attempts left."""
        question = self._question(subject, chunk)
        now = asyncio.get_running_loop().time
        for attempt in range(1, self._attempts + 1):
            share = (ends - now()) / (self._attempts - attempt + 1)
            try:
                async with asyncio.timeout(share):
                    return await self._post(question, len(chunk))
            except (TimeoutError, httpx2.TransportError, _BusyError) as error:
                pause = _pause(error, attempt)
                if attempt == self._attempts or now() + pause >= ends:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _question(self, subject: Subject, chunk: list[UUID]) -> bytes:
        kind, _, name = subject.id.partition(":")
        workspace = {"workspace_id": str(subject.workspace_id)}
        resource_properties = self._resource_properties | workspace
        question = {
            "subject": {
                "type": kind,
                "id": name,
                "properties": self._subject_properties | workspace | {"groups": sorted(subject.groups)},
            },
            "action": {"name": ACTION},
            "evaluations": [
                {"resource": {"type": "source", "id": str(source_id), "properties": resource_properties}}
                for source_id in chunk
            ],
            "options": {"evaluations_semantic": "execute_all"},
        }
        return orjson.dumps(question)

    async def _post(self, question: bytes, expected: int) -> list[bool]:
        async with self._client.stream("POST", self._url, content=question) as response:
            _raise_for_status(response)
            return _decisions(await bounded_body(response, MAX_ANSWER_BYTES), expected)


def _header_safe(token: str) -> str:
    if not token.isascii() or not token.isprintable():
        raise InvalidInput("authzen_token", "must be printable ASCII: it is sent as a header.")
    return token


def _raise_for_status(response: httpx2.Response) -> None:
    status = response.status_code
    if status in (408, 429) or status >= 500:
        raise _BusyError(status, _retry_after(response.headers.get("retry-after")))
    if status >= 300:
        raise _RefusedError(status)
    if status != 200:
        raise _NonsenseError(f"it answered {status}")
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _NonsenseError("its answer is not JSON")


def _retry_after(value: str | None) -> float | None:
    """Seconds from now (RFC 9110, 10.2.3: a number of seconds, or a date); None for none or nonsense."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _pause(error: Exception, attempt: int) -> float:
    if isinstance(error, _BusyError) and error.retry_after is not None:
        return error.retry_after
    # Full jitter: servers that failed together do not come back together.
    return random.uniform(0, BACKOFF_SECONDS * 2**attempt)  # noqa: S311 - no secret


def _decisions(body: bytes, expected: int) -> list[bool]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _NonsenseError("its answer is not JSON") from None
    evaluations = answer.get("evaluations") if isinstance(answer, dict) else None
    if not isinstance(evaluations, list) or len(evaluations) != expected:
        raise _NonsenseError("its answer does not have one evaluation for each source")
    return [_decision(evaluation) for evaluation in evaluations]


def _decision(evaluation: object) -> bool:
    match evaluation:
        case {"context": {"error": error}} if error is not None:
            # AuthZEN 1.0 reports a source that it could not evaluate as `decision: false` with an error. No denial.
            raise _NonsenseError("it could not evaluate a source")
        case {"decision": bool(decision)}:
            return decision
    raise _NonsenseError("its answer holds a decision that is neither true nor false")


def _failure(error: Exception) -> AuthorizationUnavailable:
    """What the caller is told, logged once in words for the operator, and never with an error's own text, which may
    quote a header.
    """
    causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    for cause in causes:
        if isinstance(cause, _RefusedError):
            remedy = _REDIRECT_REMEDY if cause.status < 400 else _REMEDIES.get(cause.status, _OTHER_REMEDY)
            logger.error("The authorization service answered %d. %s", cause.status, remedy)
            return AuthorizerMisconfigured()
    logger.warning("The authorization service did not decide: %s.", _reason(causes[0]))
    return AuthorizationUnavailable()


def _reason(cause: Exception) -> str:
    match cause:
        case _BusyError() | _NonsenseError():
            return str(cause)
        case OversizeBodyError():
            return "its answer is too large"
        case TimeoutError():
            return "it was too slow"
        case _:
            return type(cause).__name__
