"""Bringing many documents into a Library at once: a folder of files, or a JSONL file of documents.

Each document has an external id: its path below the folder, or its own `id`. By it a second run recognises what is
there already: the same file adds nothing, a changed one becomes a new version. So a run that was cut off is simply run
again.
"""

from app.importing.documents import Document, Outcome, count_documents, read_documents, summary
from app.importing.run import import_documents

__all__ = ["Document", "Outcome", "count_documents", "import_documents", "read_documents", "summary"]
