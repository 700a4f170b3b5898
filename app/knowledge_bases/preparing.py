"""From a version's text to rows that can be searched: cut into passages, each with its tsvector.

It is the part of indexing that costs CPU, 0.16 ms a passage where it was measured. In a thread it takes turns with
everything else that the process does; so long texts are prepared in processes of their own.
"""

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from uuid import UUID

from app.knowledge_bases.indexing import Searchable, searchable
from app.library.extraction import Extracted
from app.library.passages import cut
from app.library.splitting import split

# In a thread a text of this length takes about 20 ms.
LONG_TEXT = 100_000
MOST_PROCESSES = 4


NO_TEXT = "The file holds no text that can be read. The source is not found by search."


def notes_on(extracted: Extracted, passages: Sequence[Searchable]) -> str | None:
    """What should be known of a text that was read, in sentences."""
    return " ".join([*extracted.notes, *([] if passages else [NO_TEXT])]) or None


class Preparer:
    """Prepares texts. Those of more than `long_text` characters are sent to processes, started when first needed."""

    def __init__(self, long_text: int = LONG_TEXT) -> None:
        self._long_text = long_text
        self._pool: ProcessPoolExecutor | None = None

    async def prepare(self, source_id: UUID, version_id: UUID, text: str) -> list[Searchable]:
        """The passages of a version's text, in order, with new ids. Raises BrokenProcessPool if a process died."""
        if len(text) <= self._long_text:
            return await asyncio.to_thread(_prepare, source_id, version_id, text)
        if self._pool is None:
            self._pool = _pool()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _prepare, source_id, version_id, text)
        except BrokenProcessPool:
            self.close()  # the next text gets new processes
            raise

    def close(self) -> None:
        """End the processes. What they are at is finished, and dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _pool() -> ProcessPoolExecutor:
    processes = min(max((os.cpu_count() or 1) - 1, 1), MOST_PROCESSES)
    # Spawned: a fork would inherit the connections and the threads of this process.
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """A parent that is killed tells nobody, and its pool would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _prepare(source_id: UUID, version_id: UUID, text: str) -> list[Searchable]:
    return searchable(cut(source_id, version_id, text, split(text)))
