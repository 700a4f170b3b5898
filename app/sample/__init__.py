"""What an empty server offers a newcomer: the library of a small port, Northquay, and five callers with five views.

Plain data: whoever puts it into a database does so by the same calls as everybody else. Sources go by the stem of their
file in `documents/`, where each one's title, description, `private` and owner stand above its text.
"""

from importlib.resources import files
from typing import NamedTuple

import yaml


class SampleDocument(NamedTuple):
    """One source to be. `text` is its Markdown, without the title: what the file says and what it is called differ."""

    stem: str
    title: str
    description: str
    private: bool
    owner: str
    text: str


class SampleKnowledgeBase(NamedTuple):
    name: str
    description: str
    members: tuple[str, ...]


class SampleGrant(NamedTuple):
    """`subject` may do `action` (SPEC R1) on the source with that stem; on the workspace where `source` is None."""

    subject: str
    action: str
    source: str | None


class Person(NamedTuple):
    """A caller to make a token for. `sees` is one line for the reader, without a full stop."""

    subject: str
    groups: tuple[str, ...]
    sees: str


class FirstRetrieval(NamedTuple):
    person: str
    knowledge_base: str
    query: str


class ExampleQuery(NamedTuple):
    """`shows` is what the query finds in `HANDBOOK`, asked by user:ada unless it says otherwise."""

    query: str
    shows: str


WORKSPACE = "default"
HANDBOOK = "Company handbook"
OPERATIONS = "Operations"

KNOWLEDGE_BASES = (
    SampleKnowledgeBase(
        name=HANDBOOK,
        description="Everything that a colleague at Northquay may need to look up",
        members=(
            "budget-2026-q3",
            "cafe-kai-menu",
            "form-nq-117-b",
            "harbor-rigging-inspections",
            "heavy-weather-plan",
            "incident-2026-014",
            "merger-memo",
            "onboarding-handbook",
            "rd-roadmap",
            "salary-bands",
            "tokyo-office",
            "towage-contract",
            "travel-policy-2026",
            "who-is-who",
        ),
    ),
    SampleKnowledgeBase(
        name=OPERATIONS,
        description="Piers, ships, gear and weather",
        members=(
            "form-nq-117-b",
            "harbor-rigging-inspections",
            "heavy-weather-plan",
            "incident-2026-014",
            "towage-contract",
        ),
    ),
)

GRANTS = (
    SampleGrant("user:ada", "library.manage", None),
    SampleGrant("user:ada", "library.read", None),
    SampleGrant("user:ada", "source.details", "salary-bands"),
    SampleGrant("user:grace", "workspace.read", None),
    SampleGrant("user:linus", "workspace.read", None),
    SampleGrant("group:finance", "source.details", "salary-bands"),
    SampleGrant("group:finance", "source.content", "salary-bands"),
    SampleGrant("user:mallory", "source.details", "form-nq-117-b"),
    SampleGrant("agent:helper", "workspace.read", None),
)

PEOPLE = (
    Person(
        "user:ada",
        (),
        "manages the library and reads all that is not private; knows that the salary bands exist, but can't read them",
    ),
    Person("user:grace", (), "reads all: what is not private, and the two private sources because they are hers"),
    Person(
        "user:linus",
        ("group:finance",),
        "reads all that is not private, and the salary bands because of his group; knows nothing of the merger memo",
    ),
    Person("user:mallory", (), "is an outsider and sees one source, the form for a claim"),
    Person("agent:helper", (), "reads all that is not private and knows nothing of the rest"),
)

FIRST_RETRIEVAL = FirstRetrieval(person="user:ada", knowledge_base=HANDBOOK, query="travel policy")

EXAMPLE_QUERIES = (
    ExampleQuery(
        "travel policy",
        "Two passages that say so, then Travel policy 2026, whose text has neither word. Travel policy 2019 is in no "
        "knowledge base: only a search of the whole workspace finds it.",
    ),
    ExampleQuery("harbor rigging", "One source, by its title: its text never says rigging."),
    ExampleQuery("claim for damaged mooring lines", "The report that says it, then the form that is described so."),
    ExampleQuery("NQ-117/B", "A number means its parts in this order: the report that names the form, then the form."),
    ExampleQuery("budget_2026-q3.xlsx", "A file name finds its source; so does the word budget alone."),
    ExampleQuery("R&D", "The budget has a line for it, and the roadmap has it in its title."),
    ExampleQuery(
        "Who Is Who", "Stop words alone, yet the whole title finds the staff directory. A notice says why nothing else."
    ),
    ExampleQuery("東京案内", "A title in any script finds its source."),
    ExampleQuery("creme brulee", "Accents don't matter: the menu of Café Kai."),
    ExampleQuery("2.0.1", "The parts of a number stand in this order: the roadmap's passage about that release."),
    ExampleQuery('"stop work"', "In double quotes the words stand side by side: the handbook and the report."),
    ExampleQuery(
        "https://records.northquay.example/incidents/2026-014", "A pasted address finds the text that holds it."
    ),
    ExampleQuery("salary band", "One hit for user:ada; for user:linus and user:grace the private table as well."),
    ExampleQuery("merger", "Nothing, as if it weren't there; user:grace, who owns the memo, gets its passages."),
    ExampleQuery(
        "Who pays for my hotel if a storm closes the port?",
        "Nothing holds all these words. With match: ANY_WORD, passages that hold some of them, rare words first.",
    ),
)


def documents() -> list[SampleDocument]:
    """Every document of the sample, by stem."""
    folder = files(__name__) / "documents"
    named = {entry.name.removesuffix(".md"): entry.read_text("utf-8") for entry in folder.iterdir()}
    return [_read(stem, named[stem]) for stem in sorted(named)]


def _read(stem: str, file: str) -> SampleDocument:
    _, front, body = file.split("---\n", 2)
    return SampleDocument(stem=stem, text=body.lstrip(), **yaml.safe_load(front))
