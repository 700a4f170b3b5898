"""The stories that README, GraphiQL and `gctl serve` tell about the sample are true of its data."""

import re
from collections import Counter

import pytest

from app.access.subject import is_subject
from app.sample import EXAMPLE_QUERIES, FIRST_RETRIEVAL, GRANTS, KNOWLEDGE_BASES, PEOPLE, SampleDocument, documents

WORKSPACE_ACTIONS = {"workspace.read", "library.read", "library.manage"}
SOURCE_ACTIONS = {"source.read", "source.details", "source.content"}


def by_stem() -> dict[str, SampleDocument]:
    return {document.stem: document for document in documents()}


@pytest.mark.parametrize(
    ("stem", "title", "unsaid"),
    [
        ("travel-policy-2026", "Travel policy 2026", r"\b(travel|polic(y|ies)\b)"),
        ("harbor-rigging-inspections", "Harbor rigging inspection schedules", r"\b(harbor|rig(s|g\w*)?\b)"),
        ("form-nq-117-b", "Form NQ-117/B", r"\b(NQ|117)"),
        ("budget-2026-q3", "Budget_2026-Q3.xlsx", r"budget"),
        ("tokyo-office", "東京案内", r"案内"),
    ],
)
def test_a_source_that_only_its_title_can_find(stem: str, title: str, unsaid: str) -> None:
    document = by_stem()[stem]

    assert document.title == title
    assert re.findall(unsaid, document.text, re.IGNORECASE) == []


def test_a_title_of_stop_words_and_one_with_a_symbol() -> None:
    assert by_stem()["who-is-who"].title == "Who Is Who"
    assert by_stem()["rd-roadmap"].title == "R&D roadmap"


def test_two_documents_are_private_and_both_are_graces() -> None:
    private = {document.stem: document.owner for document in documents() if document.private}

    assert private == {"salary-bands": "user:grace", "merger-memo": "user:grace"}
    assert all(isinstance(document.private, bool) for document in documents())


def test_nobody_is_granted_the_merger_memo() -> None:
    assert [grant for grant in GRANTS if grant.source == "merger-memo"] == []


def test_salary_bands_open_to_the_finance_group_and_show_ada_that_they_exist() -> None:
    assert {(grant.subject, grant.action) for grant in GRANTS if grant.source == "salary-bands"} == {
        ("group:finance", "source.details"),
        ("group:finance", "source.content"),
        ("user:ada", "source.details"),
    }


def test_mallory_has_one_grant_on_one_source_and_none_on_the_workspace() -> None:
    assert [grant for grant in GRANTS if grant.subject == "user:mallory"] == [
        ("user:mallory", "source.details", "form-nq-117-b")
    ]


def test_each_grant_names_an_action_of_its_kind_and_a_source_that_exists() -> None:
    assert {grant.action for grant in GRANTS if grant.source is None} <= WORKSPACE_ACTIONS
    assert {grant.action for grant in GRANTS if grant.source is not None} <= SOURCE_ACTIONS
    assert {grant.source for grant in GRANTS if grant.source is not None} <= by_stem().keys()


def test_each_grant_and_each_document_belongs_to_someone_the_sample_introduces() -> None:
    people = {person.subject for person in PEOPLE}
    groups = {group for person in PEOPLE for group in person.groups}

    assert all(is_subject(name) for name in people | groups)
    assert {grant.subject for grant in GRANTS} <= people | groups
    assert {document.owner for document in documents()} <= people


def test_titles_are_unique_and_every_document_reads_well() -> None:
    titles = Counter(document.title for document in documents())

    assert [title for title, times in titles.items() if times > 1] == []
    assert all(document.title and document.description for document in documents())
    assert [document.stem for document in documents() if not 150 <= len(document.text.split()) <= 700] == []


def test_knowledge_bases_hold_documents_that_exist_and_leave_out_exactly_one() -> None:
    held = {stem for knowledge_base in KNOWLEDGE_BASES for stem in knowledge_base.members}

    assert held <= by_stem().keys()
    assert by_stem().keys() - held == {"travel-policy-2019"}
    assert all(len(set(members)) == len(members) for _, _, members in KNOWLEDGE_BASES)


def test_first_retrieval_has_content_hits_and_a_title_hit() -> None:
    person, knowledge_base, query = FIRST_RETRIEVAL
    members = next(base.members for base in KNOWLEDGE_BASES if base.name == knowledge_base)
    saying = [stem for stem in members if query in " ".join(by_stem()[stem].text.split())]
    titled = [stem for stem in members if query in by_stem()[stem].title.lower()]

    assert person in {each.subject for each in PEOPLE}
    assert saying == ["onboarding-handbook", "towage-contract"]
    assert titled == ["travel-policy-2026"]


def test_documents_come_by_stem_and_do_not_begin_with_their_front_matter() -> None:
    stems = [document.stem for document in documents()]

    assert stems == sorted(stems)
    assert not any(document.text.startswith("-") for document in documents())


def test_example_queries_are_unique_and_explained() -> None:
    queries = [example.query for example in EXAMPLE_QUERIES]

    assert len(set(queries)) == len(queries)
    assert FIRST_RETRIEVAL.query in queries
    assert all(example.shows.endswith(".") for example in EXAMPLE_QUERIES)
