"""PDF text, page by page. A scan without a text layer has none."""

import pypdfium2

from app.library.formats.cleaning import one_line
from app.library.formats.document import Document, ExtractionError
from app.library.formats.markdown import LONGEST_DESCRIPTION, LONGEST_TITLE

_DAMAGED = "The PDF is damaged and cannot be read. Open it, save it again and add the new file."
_LOCKED = "The PDF is protected by a password. Remove the password and add the file again."
_UNSUPPORTED = "The PDF is protected in a way that cannot be read. Save it without protection and add it again."
_REASONS = {pypdfium2.raw.FPDF_ERR_PASSWORD: _LOCKED, pypdfium2.raw.FPDF_ERR_SECURITY: _UNSUPPORTED}
# PDFium writes this where a word was hyphenated at the end of a line.
_HYPHENATION = "\ufffe"
# More, and the file is damaged. It also ends a page tree that claims a billion pages.
_MOST_UNREADABLE = 20


def read(content: bytes) -> Document:
    """The pages' text, a blank line between two. A word hyphenated at the end of a line is one word again."""
    try:
        pdf = pypdfium2.PdfDocument(content)
        pages, unreadable = _pages(pdf)
        metadata = pdf.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(_REASONS.get(error.err_code, _DAMAGED)) from error
    notes = (f"Pages that could not be read: {', '.join(map(str, unreadable))}.",) if unreadable else ()
    title, subject = metadata.get("Title"), metadata.get("Subject")
    text = "\n\n".join(pages).replace(_HYPHENATION, "")
    return Document(text, one_line(title, LONGEST_TITLE), one_line(subject, LONGEST_DESCRIPTION), notes)


def _pages(pdf: pypdfium2.PdfDocument) -> tuple[list[str], list[int]]:
    """The text of each page, and the numbers, from 1, of those that could not be read."""
    pages: list[str] = []
    unreadable: list[int] = []
    for index in range(len(pdf)):
        try:
            page = pdf[index]
        except pypdfium2.PdfiumError as error:
            unreadable.append(index + 1)
            if len(unreadable) > _MOST_UNREADABLE:
                raise ExtractionError(_DAMAGED) from error
            continue
        text = page.get_textpage()
        pages.append(text.get_text_range())
        text.close()
        page.close()
    if unreadable and not pages:
        raise ExtractionError(_DAMAGED)
    return pages, unreadable
