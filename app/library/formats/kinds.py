"""What a file is: by its content first. Its name and declared type choose between kinds of text only."""

import re
from pathlib import PurePath

from app.library.formats.document import ExtractionError, Kind

_BINARY = (
    (rb"MZ(?s:.{0,1000})\0", "a program"),
    (rb"\x7fELF|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]|\xca\xfe\xba\xbe|\0asm", "a program"),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|BM(?s:.{0,20})\0|II\*\0|MM\0\*|\0\0\x01\0", "an image"),
    (
        rb"ID3[\x02-\x04]|OggS\0|fLaC\0|RIFF....(?:WAVE|AVI )|(?s:....)ftyp|\x1aE\xdf\xa3|\xff[\xfb\xf3]",
        "sound or video",
    ),
    (rb"SQLite format 3\0", "a database"),
)
_ARCHIVE = (
    rb"\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ\0|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd|PK\x05\x06|(?s:.{257})ustar"
)
_OTHERS = (
    (_ARCHIVE, "The file is an archive. Unpack it and add the files inside."),
    (rb"\{\\rtf", "The file is Rich Text (RTF). Save it as DOCX or plain text and add it again."),
    (rb"%!PS", "The file is PostScript. Save it as PDF and add it again."),
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "The file is an old or a protected Office file. Save it as DOCX without a password and add it again.",
    ),
)
_REFUSED = [(re.compile(pattern), f"The file is {what}, not a document.") for pattern, what in _BINARY]
_REFUSED += [(re.compile(pattern), reason) for pattern, reason in _OTHERS]

# Possessive: a comment could otherwise be taken to end at any later one's end, and all ways would be tried.
_HTML = re.compile(rb"(?:<\?xml[^>]*>\s*)?(?:<!--(?s:.*?)-->\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_LEADING = b"\xef\xbb\xbf\xff\xfe \t\r\n\f"
_HEAD = 4_096

_BY_SUFFIX = {
    ".md": Kind.MARKDOWN,
    ".markdown": Kind.MARKDOWN,
    ".mdx": Kind.MARKDOWN,
    ".html": Kind.HTML,
    ".htm": Kind.HTML,
    ".xhtml": Kind.HTML,
    ".csv": Kind.CSV,
    ".json": Kind.JSON,
    ".txt": Kind.PLAIN,
}
_BY_MEDIA_TYPE = {
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "text/csv": Kind.CSV,
    "application/json": Kind.JSON,
}


def kind_of(content: bytes, media_type: str | None, file_name: str) -> Kind:
    """The kind to read a file as. Raises ExtractionError for what is no document, whatever its name says."""
    head = content[:_HEAD]
    for pattern, reason in _REFUSED:
        if pattern.match(head):
            raise ExtractionError(reason)
    if b"%PDF-" in head[:1024] and (head.lstrip(_LEADING).startswith(b"%PDF-") or b"\0" in head):
        return Kind.PDF
    if head.startswith(b"PK\x03\x04"):
        return Kind.DOCX
    if _HTML.match(head.replace(b"\0", b"").lstrip(_LEADING)):
        return Kind.HTML
    return _text_kind(media_type, file_name)


def _text_kind(media_type: str | None, file_name: str) -> Kind:
    declared = (media_type or "").partition(";")[0].strip().lower()
    by_name = _BY_SUFFIX.get(PurePath(file_name).suffix.lower(), Kind.PLAIN)
    return _BY_MEDIA_TYPE.get(declared, by_name)
