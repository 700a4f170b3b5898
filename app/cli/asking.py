"""Asks a server to run an operation: one POST to /graphql.

httpx2 checks certificates against the system's, has time limits for each step, and follows no redirect, which would
carry the token to another host; urllib would. It costs 0.1 s of CPU, so it is imported when there is a call to make.
"""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from app.cli.profile import Connection, is_local
from app.operations import Operation, problem

TIMEOUT = httpx2.Timeout(60.0, connect=5.0)


class Refused(Exception):  # as app.errors names them
    """What the server said instead of an answer, or what is said in its place: `message`, `code`, `retryable`."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(problem["message"])
        self.problem = dict(problem)


def ask(connection: Connection, operation: Operation, body: Mapping[str, Any]) -> Any:
    """The operation's answer. Raises Refused; InvalidInput for a body with names that the operation does not know."""
    answer = run(connection, operation, operation.variables(body))
    if answer.get("errors"):
        raise Refused(problem(answer["errors"][0]))
    return operation.answer(answer["data"])


def run(connection: Connection, operation: Operation, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The GraphQL answer: `data`, `errors` or both. Raises Refused where there is none."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    if connection.token is not None:
        headers["authorization"] = f"Bearer {connection.token}"
    with httpx2.Client(
        timeout=TIMEOUT,
        verify=connection.address.startswith("https:"),  # reading the system's certificates takes 40 ms of CPU
        trust_env=not is_local(connection.address),  # a proxy has no way to this machine's loopback interface
    ) as client:
        try:
            # Escaped, so that whatever a JSON text can hold reaches the server, which says what is wrong with it.
            content = json.dumps({"query": operation.document, "variables": variables})
            response = client.post(f"{connection.address}/graphql", content=content, headers=headers)
        except httpx2.TimeoutException:
            raise _refused("TIMEOUT", f"{connection.address} did not answer in time.") from None
        except httpx2.HTTPError as error:
            raise _refused("UNAVAILABLE", f"{connection.address} cannot be reached: {error}") from None
    return _answer(connection, response)


def _answer(connection: Connection, response: httpx2.Response) -> Mapping[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not (answer.get("errors") or isinstance(answer.get("data"), dict)):
        raise _refused(
            "UNAVAILABLE",
            f"What answers at {connection.address}/graphql is not this product: HTTP status {response.status_code}.",
            retryable=response.is_server_error,
        )
    return answer


def _refused(code: str, message: str, *, retryable: bool = True) -> Refused:
    return Refused({"message": message, "code": code, "retryable": retryable})
