"""What operators' commands share: settings, logs, and how an error ends a command."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click
import orjson
from pydantic import ValidationError

from app.embedded import EmbeddedPostgresError
from app.errors import AppError
from app.logs import configure_logs
from app.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def read_settings(*, quiet: bool = False) -> Settings:
    """The environment's settings. A wrong one ends the command with status 2, naming it.

    `quiet` is for commands that end by themselves and say in their own words what they did: unless GCTL_LOG_LEVEL is
    set, they log warnings only.
    """
    try:
        settings = Settings()
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in error.errors())
        raise click.UsageError(f"A setting in the environment is wrong. {problems}") from None
    if quiet and "log_level" not in settings.model_fields_set:
        settings = settings.model_copy(update={"log_level": "warning"})
    configure_logs(settings)
    return settings


@contextmanager
def ending() -> Iterator[None]:
    """End the command as errors end one: status 1, with JSON on standard error for what the product refuses."""
    try:
        yield
    except AppError as error:
        click.echo(orjson.dumps({"message": error.message} | error.extensions).decode(), err=True)
        raise click.exceptions.Exit(1) from None
    except EmbeddedPostgresError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"The database or the file store cannot be reached: {error}") from None


def operator(command: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Make a coroutine an operator's command."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with ending():
            return asyncio.run(command(*args, **kwargs))

    return run
