"""The plans change nothing: what they read is what graphql-core completes, errors and their order included."""

import hashlib
import inspect
import json
import random
import re
from functools import cache
from importlib import import_module
from typing import Any, cast

import graphql
import pytest
from graphql import ExecutionResult, GraphQLError
from graphql.execution import Executor, collect_fields
from graphql.execution.incremental.incremental_executor import IncrementalExecutor
from strawberry import Schema
from strawberry.execution import is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import StrawberryResolver

from app.settings import Settings
from graphql_schema.context import Context
from graphql_schema.errors import RequestErrors
from graphql_schema.execution import Execution
from graphql_schema.execution.plan import Plan
from graphql_schema.execution.readers import getter
from graphql_schema.http import OperationRequest, Operations
from graphql_schema.limits import Documents, Operation
from graphql_schema.schema import schema
from tests.graphql_schema import door, faulty
from tests.graphql_schema.faults import FAULTS, Leaf
from tests.graphql_schema.faults import Context as FaultyContext
from tests.graphql_schema.writing import Writer
from tests.world import RETRIEVE, World

LOOSE = Settings(max_query_cost=10**9, max_query_depth=100, max_query_aliases=1_000, max_query_tokens=10_000)


class Both:
    """One schema's operations, executed with plans and without."""

    def __init__(self, schema: Schema) -> None:
        self.documents = Documents(schema._schema, LOOSE)
        self.fast, self.plain = Execution(schema, fast=True), Execution(schema, fast=False)

    async def answers(self, text: str, variables: dict[str, Any], context: Any) -> tuple[str, str]:
        """Of both: data in its order, and the errors with all that is told of them. `context` makes a fresh one.

        With plans it is run twice, as the first time may teach it a shorter way.
        """
        operation = self.documents.operation(text, None)
        first = await _told(self.fast, operation, variables, context())
        again = await _told(self.fast, operation, variables, context())
        assert first == again
        return again, await _told(self.plain, operation, variables, context())

    def straight(self) -> int:
        """How many of the operations that were run have a plan that needs no executor."""
        return sum(any(plan.straight for plan in plans.known.values()) for plans in self.fast._plans.values())


@cache
def _both_faulty() -> Both:
    return Both(faulty.SCHEMA)


async def _told(execution: Execution, operation: Operation, variables: dict[str, Any], context: object) -> str:
    running = execution.run(operation, context, variables)
    result = await running if inspect.isawaitable(running) else running
    assert isinstance(result, ExecutionResult)
    told = {"data": result.data, "errors": [_error(error) for error in result.errors or []], "as": repr(result.data)}
    return re.sub(r"\b0x[0-9a-f]+", "an address", json.dumps(told, default=repr))


def _error(error: GraphQLError) -> list[object]:
    places = [(place.line, place.column) for place in error.locations or []]
    return [error.message, error.path, places, type(error.original_error).__name__]


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_in_every_field_is_told_alike(fault: str) -> None:
    both = _both_faulty()
    for selection in faulty.selections():
        for around in ("{ given { text %s } }", "{ given { withArgument text %s later } }", "{ given { ... { %s } } }"):
            context = lambda: FaultyContext("seed", value=FAULTS[fault])  # noqa: E731
            fast, plain = await both.answers(around % selection, {}, context)
            assert fast == plain, (fault, around % selection)


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_of_an_only_field_is_told_alike(fault: str) -> None:
    """Where the operation needs no executor, and where it turns out that it needs one."""
    both = Both(faulty.SCHEMA)
    texts = [f"{{ soon {{ text {selection} }} }}" for selection in faulty.selections()]
    texts += ["{ whatever { text } }", "query ($r: Boolean!) { key: needed(raised: $r) { maybe text } }"]
    for text in texts:
        for value in (lambda: Leaf(text="a", maybe=None), FAULTS[fault], FAULTS["leaf"]):
            for variables in ({"r": False}, {"r": True}) if "$r" in text else ({},):
                context = lambda value=value: FaultyContext("seed", value=value)  # noqa: E731
                fast, plain = await both.answers(text, variables, context)
                assert fast == plain, (text, variables)
    left = ("named", "tag", "withArgument", "later")  # of a holder's fields graphql-core completes these
    assert both.straight() == len(texts) - len(left)


async def test_the_resolver_of_an_only_field_is_told_what_it_always_was() -> None:
    both = Both(faulty.SCHEMA)
    for variables in ({"a": 1}, {"a": 2}, {}):
        text = "query Q($a: Int) { mine: told(number: $a) @include(if: true) }"
        fast, plain = await both.answers(text, variables, lambda: FaultyContext("seed"))
        assert fast == plain
        assert "mine" in fast
    ((plan,),) = (plans.known.values() for plans in both.fast._plans.values())
    assert plan.straight is not None
    kept = plan.straight._info
    assert (kept.context, kept.variable_values) == (None, {})  # nothing of the caller who came first


async def _compare(schema: Schema, documents: int, values: Any, contexts: Any, *, size: int = 30) -> tuple[int, int]:
    """Random documents, each with three sets of variables; how many answers had data, and how many had errors."""
    both, with_data, with_errors = Both(schema), 0, 0
    for number in range(documents):
        chance = random.Random(f"document {number}")  # noqa: S311 nothing is secret here
        writer = Writer(schema._schema, chance, values, size=size)
        try:
            both.documents.operation(writer.text, None)
        except RequestErrors:
            continue  # two fields of one key that do not go together: not executed by either
        for round_ in range(3):
            fast, plain = await both.answers(writer.text, writer.variables(), contexts(chance, f"{number}/{round_}"))
            assert fast == plain, (number, round_, writer.text)
            with_data += '{"data": {' in plain
            with_errors += '"errors": []' not in plain
    return with_data, with_errors


async def test_random_documents_over_faulty_values_are_answered_alike() -> None:
    def contexts(chance: random.Random, seed: str) -> Any:
        faults = chance.choice([0.0, 0.0, 0.01, 0.05])
        return lambda: FaultyContext(seed, faults)

    with_data, with_errors = await _compare(faulty.SCHEMA, 120, lambda *_: None, contexts)
    assert with_data > 150
    assert with_errors > 50


async def test_random_documents_of_the_doors_own_schema_are_answered_alike() -> None:
    def contexts(chance: random.Random, _: str) -> Any:
        events = door.Events()
        events.release.set()
        subject = chance.choice([door.ADA, None])
        return lambda: door.Context(subject, events)

    def values(chance: random.Random, _: str, argument: str) -> str | None:
        known = {"how": ['"missing"', '"input"', '"index"'], "first": ["1", "2"], "limit": ["1", "2"]}
        return chance.choice(known[argument]) if argument in known else None

    with_data, with_errors = await _compare(door.SCHEMA, 60, values, contexts, size=12)
    assert with_data > 60
    assert with_errors > 20


async def test_random_documents_over_a_library_are_answered_alike(world: World) -> None:
    await world.add("Rigging", "Rigging and cranes. " * 150, "Of harbors")
    await world.add("Cranes", "Cranes lift.", private=True)
    await world.add("Cargo", "Cargo, cranes & <rigging>.")
    base = await world.knowledge_base("Rigging", "Cargo")
    ids = [f'"{id_}"' for id_ in (*world.sources.values(), "no id", "01900000-0000-7000-8000-000000000000")]

    def values(chance: random.Random, field: str, argument: str) -> str | None:
        known = {
            "query": ['"cranes"', '"rigging cranes"', '"C++"', '" "'],
            "knowledgeBaseId": [f'"{base}"', f'"{base}"', ids[0], ids[-2]],
            "sourceId": ids,
            "limit": ["1", "2", "50", "51"],
            "first": ["1", "2", "101"],
            "after": ['""', '"no cursor"'],
        }
        known["id"] = [f'"{base}"'] if field == "knowledgeBase" else ids
        return chance.choice(known[argument]) if argument in known and chance.random() < 0.8 else None

    def contexts(chance: random.Random, _: str) -> Any:
        subject = world.subject(chance.choice(["user:manager", "user:reader", "user:nobody"]))
        return lambda: Context(world.services, subject, world.workspace)

    with_data, with_errors = await _compare(schema, 40, values, contexts, size=14)
    assert with_data > 40
    assert with_errors > 20


async def test_the_fields_of_a_hit_are_only_read() -> None:
    """What docs/performance.md promises: of a retrieval only the root field is graphql-core's."""
    hit = cast("graphql.GraphQLObjectType", schema._schema.type_map["Hit"])
    left = {name for name, field in hit.fields.items() if getter(field) is None}
    assert left == {"version"}


async def test_a_plan_is_made_once_for_each_combination_of_conditions() -> None:
    both = Both(faulty.SCHEMA)
    text = "query ($x: Boolean!, $z: Boolean = true) { holder { text @skip(if: $x) whole @include(if: $z) } }"
    context = lambda: FaultyContext("seed")  # noqa: E731
    for variables in ({"x": True}, {"x": False}, {"x": True, "z": None}, {"x": True, "z": False}, {"x": 1}, {}) * 3:
        fast, plain = await both.answers(text, cast("dict[str, Any]", variables), context)
        assert fast == plain, variables
    (plans,) = both.fast._plans.values()
    assert len(plans.known) == 4  # a wrong value has none, and neither has one that is missing


@pytest.mark.parametrize("fast", [True, False])
async def test_the_setting_chooses_the_executor(world: World, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.add("Rigging", "Rigging and cranes.")
    read: list[object] = []
    original = Plan.reader

    def heard(self: Plan, *args: Any) -> Any:
        read.append(args)
        return original(self, *args)

    monkeypatch.setattr(Plan, "reader", heard)
    operations = Operations(schema, world.services.settings.model_copy(update={"fast_execution": fast}))
    context = Context(world.services, world.subject("user:reader"), world.workspace)
    answer = await operations.run(OperationRequest(RETRIEVE, variables={"query": "cranes"}), context)
    assert cast("Any", answer.body["data"])["retrieve"]["hits"][0]["source"] == {"title": "Rigging"}
    assert bool(read) is fast


LEANED_ON = {
    "Executor": (Executor, "complete_value collect_subfields execute_fields execute_field build execute_operation"),
    "its making": (Executor, "__init__ build_resolve_info build_response"),
    "executing": ("graphql.execution.execute", "execute experimental_execute_incrementally"),
    "variables": ("graphql.execution.values", "get_variable_values coerce_variable_values"),
    "signatures": ("graphql.execution.get_variable_signature", "get_variable_signature"),
    "scalars": ("graphql.type.scalars", "coerce_int coerce_float coerce_string coerce_boolean coerce_id"),
    "arguments": ("strawberry.types.arguments", "convert_arguments convert_argument"),
    "resolving": ("strawberry.schema.schema_converter", "get_arguments"),
    "more of it": (Executor, "complete_list_value complete_leaf_value complete_object_value complete_list_item_value"),
    "an only field": (Executor, "complete_awaitable_value handle_field_error gather_async_work track_async_work"),
    "its arguments": ("graphql.execution.values", "get_argument_values coerce_argument maybe_use_default_value"),
    "of variables": ("graphql.utilities.coerce_input_value", "coerce_input_literal get_coerced_variable_value"),
    "incremental": (IncrementalExecutor, "execute_collected_root_fields execute_collected_subfields build_response"),
    "strawberry's": (StrawberryGraphQLCoreExecutionContext, "__init__ build_resolve_info"),
    "fields": (StrawberryField, "get_result is_basic_field"),
    "resolvers": (StrawberryResolver, "__call__"),
    "converter": (GraphQLCoreConverter, "from_resolver"),
    "collecting": (collect_fields, "collect_fields collect_subfields"),
    "awaitable": (is_awaitable, "optimized_is_awaitable"),
}
KNOWN = {
    "Executor": "f381da1bba1d6d79",
    "its making": "398da1f5e8efb841",
    "executing": "9170c390aea61952",
    "variables": "efe4382499e99f8e",
    "signatures": "12756e033317ad4a",
    "scalars": "8b514d649a12c040",
    "arguments": "c88c65c8aade18d0",
    "resolving": "622f5399b812e9e2",
    "more of it": "35f38ba3451c4db4",
    "an only field": "2788bb824df46995",
    "its arguments": "199d5a5a24c60783",
    "of variables": "712a6e3af977469d",
    "incremental": "8f3f605d9e2cffde",
    "strawberry's": "8c621683e1513daa",
    "fields": "1212f7fd89ce61c3",
    "resolvers": "e86ac9383353bada",
    "converter": "bcac1354fecdee79",
    "collecting": "edfb93409a69937e",
    "awaitable": "573992bc92ad1c50",
}


def _fingerprint(owner: object, names: str) -> str:
    owner = import_module(owner) if isinstance(owner, str) else owner
    sources = (inspect.getattr_static(owner, name) for name in names.split())
    texts = [inspect.getsource(getattr(source, "fget", None) or source) for source in sources]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


@pytest.mark.parametrize("part", LEANED_ON)
def test_what_the_plans_lean_on_is_as_it_was(part: str) -> None:
    """When this fails after an upgrade: read what changed, see that the readers do the same, write the new print."""
    assert _fingerprint(*LEANED_ON[part]) == KNOWN[part]
