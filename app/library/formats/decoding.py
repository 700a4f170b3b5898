"""Bytes to characters. Never by a guess that could be wrong: a file that cannot be told is refused."""

import codecs
import re

from app.library.formats.document import ExtractionError

# Longest first: UTF-32's mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# In common use before UTF-8. Rarer ones only make the detector mistake these: Polish became Baltic.
_LEGACY = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "iso8859_2"]
_LEGACY += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
# The detector's figures, from 0 to 1: how well a decoding reads as a language, how much it looks like rubbish.
_COHERENT, _CHAOTIC, _CLEAN = 0.2, 0.1, 0.02

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_SAMPLE = 4_096

_UNKNOWN = "The file's character encoding cannot be told. Save it as UTF-8 and add it again."


def decode(content: bytes, declared: str = "") -> str:
    """The characters of a text file. `declared` may name a charset, as in a media type or an HTML meta element.

    In this order: the byte order mark, the declared charset, UTF-8, UTF-32 and UTF-16 without a mark, and a legacy
    encoding if exactly one is likely. Raises ExtractionError if none fits.
    """
    if (text := decode_unicode(content)) is not None:
        return text
    if (charset := _CHARSET.search(declared)) and (text := _strictly(content, charset[1])) is not None:
        return text
    for encoding in _wide(content[:_SAMPLE]):
        if (text := _strictly(content, encoding)) is not None:
            return text
    return _decode_legacy(content)


def decode_unicode(content: bytes) -> str | None:
    """The characters of a file with a byte order mark, or in UTF-8. None if it is neither."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _strictly(content, encoding)
    return None if _wide(content[:_SAMPLE]) else _strictly(content, "utf-8")


def _strictly(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _wide(sample: bytes) -> list[str]:
    """UTF-32 or UTF-16 if the zero bytes stand where it has them."""
    if sample.count(0) * 4 <= len(sample):
        return []
    if sample[1::4].count(0) + sample[2::4].count(0) > len(sample) * 0.4:
        return ["utf-32-le", "utf-32-be"]
    return ["utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"]


def _decode_legacy(content: bytes) -> str:
    # Here, because few files need it and the import is slow.
    from charset_normalizer import from_bytes

    matches = list(from_bytes(content, cp_isolation=_LEGACY))
    if not matches or matches[0].chaos > _CHAOTIC:
        raise ExtractionError(_UNKNOWN)
    best, *rivals = matches
    # Chinese and Japanese are seldom told as languages: then nothing else may come near.
    alone = best.chaos <= _CLEAN and all(rival.chaos > _CHAOTIC for rival in rivals)
    if best.coherence < _COHERENT and not alone:
        raise ExtractionError(_UNKNOWN)
    return content.decode(best.encoding)
