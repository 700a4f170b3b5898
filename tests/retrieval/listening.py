"""Hears the statements that are sent to the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.pool import Pool

TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK", "SET ")


class Statements(list[str]):
    """The statements that were sent to the database, but for those that open and close transactions."""

    def hear(self, statement: str) -> None:
        if not statement.lstrip().upper().startswith(TRANSACTION):
            self.append(statement)


@contextmanager
def listening() -> Iterator[Statements]:
    """Hear every statement on connections that are opened from now on."""
    statements = Statements()

    def on_driver(connection: Any, _: object) -> None:
        connection.driver_connection.add_query_logger(lambda record: statements.hear(record.query))

    def on_engine(*arguments: Any) -> None:  # what SQLAlchemy prepares, the driver does not log
        statements.hear(arguments[2])

    event.listen(Pool, "connect", on_driver)
    event.listen(Engine, "before_cursor_execute", on_engine)
    try:
        yield statements
    finally:
        event.remove(Pool, "connect", on_driver)
        event.remove(Engine, "before_cursor_execute", on_engine)
