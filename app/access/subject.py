"""Who is asking. A Subject comes from a verified token only; nothing here does I/O."""

import re
from dataclasses import dataclass, field
from uuid import UUID

SUBJECT = re.compile(r"(?:user|agent|group):\S{1,200}")


@dataclass(frozen=True, slots=True)
class Subject:
    """One caller in one workspace: itself (`user:…` or `agent:…`) and the groups that its token names."""

    workspace_id: UUID
    id: str
    groups: frozenset[str] = field(default_factory=frozenset)

    @property
    def names(self) -> list[str]:
        """Every subject whose grants count for this caller, itself first, the groups in order."""
        return [self.id, *sorted(self.groups)]


def is_subject(text: str) -> bool:
    """Whether `text` is `user:…`, `agent:…` or `group:…`: 1 to 200 printable characters, no white space."""
    return SUBJECT.fullmatch(text) is not None and text.isprintable()
