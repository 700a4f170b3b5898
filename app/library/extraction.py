"""Bytes to text, bounded: whatever a file holds, the server goes on.

Text and Markdown in Unicode are read here, in a thread: an import of thousands starts no process. What is large, or
needs a parser or a guess, is read in a process of its own, with limits on time, memory and output, without the
environment's secrets, killed with its group when it is late or no longer wanted.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import app
from app.library.formats.decoding import decode_unicode
from app.library.formats.document import Document, ExtractionError, Kind
from app.library.formats.kinds import kind_of
from app.library.formats.reading import read_markdown, read_text
from app.settings import Settings

__all__ = ["Extracted", "ExtractionError", "extract"]

_WORKER = [sys.executable, "-P", "-X", "utf8", "-m", "app.library.formats.worker"]
_ENVIRONMENT = {"PYTHONPATH": str(Path(app.__file__).parents[1])}
# Title, description and notes beside the text; a character has at most four bytes in UTF-8.
_MOST_BESIDE, _BYTES_A_CHARACTER = 1_000_000, 4
_CHUNK = 1_000_000
# Each step over a text holds Python's lock. More, and other requests would wait for tens of milliseconds.
_MOST_HERE = 2_000_000


@dataclass(frozen=True, slots=True)
class Extracted:
    """A file's text, with `\\n` as its only line end and no control characters but that and the tab.

    `media_type` is what the content is, whatever was declared. `title` (1 to 500 characters) and `description` (1 to
    5,000) are what the file says of itself, on one line. `notes` are sentences on what was left out or replaced.
    """

    text: str
    media_type: str
    title: str | None
    description: str | None
    notes: tuple[str, ...]


async def extract(
    file: Path | bytes, *, media_type: str | None = None, file_name: str = "", settings: Settings
) -> Extracted:
    """The text of a file, which may be empty. Name and declared type only choose between kinds of text.

    Raises ExtractionError, with a reason to act on, for what cannot be read, is no document, or passes a limit.
    """
    content = await asyncio.to_thread(file.read_bytes) if isinstance(file, Path) else file
    kind = kind_of(content, media_type, file_name)
    document = await asyncio.to_thread(_read_here, kind, content, settings.max_text_characters)
    if document is None:
        document = await _read_apart(kind, content, media_type or "", settings)
    return Extracted(document.text, kind.value, document.title, document.description, document.notes)


def _read_here(kind: Kind, content: bytes, limit: int) -> Document | None:
    """None if the file needs a process of its own."""
    if kind not in (Kind.PLAIN, Kind.MARKDOWN) or len(content) > _MOST_HERE:
        return None
    text = decode_unicode(content)
    if text is None:
        return None
    return read_markdown(text, limit=limit) if kind is Kind.MARKDOWN else read_text(text, limit=limit)


async def _read_apart(kind: Kind, content: bytes, declared: str, settings: Settings) -> Document:
    seconds, memory, characters = (
        settings.extraction_seconds,
        settings.extraction_memory_bytes,
        settings.max_text_characters,
    )
    process = await asyncio.create_subprocess_exec(
        *_WORKER,
        *(kind.value, declared.replace("\0", ""), str(characters), str(seconds), str(memory)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            output = await _exchange(process, content, characters * _BYTES_A_CHARACTER + _MOST_BESIDE)
    except TimeoutError as error:
        raise _too_slow(seconds) from error
    finally:
        await _end(process)
    if process.returncode == -signal.SIGXCPU:
        raise _too_slow(seconds)
    return _document(output, process.returncode, memory)


async def _exchange(process: Process, content: bytes, most: int) -> bytes:
    """Send the file, and read at most `most` bytes: more, and the process no longer does what it was written to do."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it ended early: its answer or its status says why
        process.stdin.write(content)
        await process.stdin.drain()
        process.stdin.close()
    output = bytearray()
    while len(output) <= most and (chunk := await process.stdout.read(_CHUNK)):
        output += chunk
    return bytes(output) if len(output) <= most else b""


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it may have ended, and the loop not know yet
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _document(output: bytes, status: int | None, memory: int) -> Document:
    header, _, text = output.partition(b"\n")
    try:
        answer = json.loads(header)
        if len(text) != answer["bytes"]:
            raise ValueError("cut off")
        if "reason" not in answer:
            return Document(text.decode(), answer["title"], answer["description"], tuple(answer["notes"]))
        error = ExtractionError(answer["reason"] or _unreadable(memory))
        error.add_note(answer["cause"])
    except (ValueError, KeyError, TypeError):
        error = ExtractionError(_unreadable(memory))
        error.add_note(f"the process ended with status {status}")
    raise error


def _unreadable(memory: int) -> str:
    return (
        f"The file cannot be read: it is damaged, or reading it takes more than {memory // 1_000_000:,} MB of memory. "
        "Save it again, or split it, and add the new file."
    )


def _too_slow(seconds: int) -> ExtractionError:
    return ExtractionError(f"Reading the file took more than {seconds:,} seconds. Split it and add its parts.")
