"""Many rows in one statement: each column goes to the server as an array.

One round trip, one plan and one set of parameters a table, however many documents a transaction adds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Text, cast, column, func, insert, literal, select
from sqlalchemy.dialects.postgresql import TSVECTOR

from app.database import WriteSession
from app.models import Base


async def insert_rows(
    session: WriteSession, table: type[Base], rows: Mapping[str, Sequence[object]], **same: object
) -> None:
    """Insert rows given by columns, all of one length. `same` are the columns that have one value in all of them."""
    if not rows or not len(next(iter(rows.values()))):
        return
    types = {name: table.__table__.c[name].type for name in (*rows, *same)}
    # The driver has no binary form of a tsvector: it goes as text.
    sent: dict[str, Any] = {name: Text() if isinstance(types[name], TSVECTOR) else types[name] for name in rows}
    arrays = func.unnest(*(literal(list(values), ARRAY(sent[name])) for name, values in rows.items()))
    source = arrays.table_valued(*(column(name, sent[name]) for name in rows), name="rows").render_derived()
    given = [cast(source.c[name], types[name]) if sent[name] is not types[name] else source.c[name] for name in rows]
    constant = [literal(value, types[name]) for name, value in same.items()]
    await session.execute(insert(table).from_select([*rows, *same], select(*given, *constant), include_defaults=False))
