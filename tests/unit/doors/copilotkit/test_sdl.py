"""The schema is the one that the clients were compiled against, and their documents take the short way."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema, is_input_type, parse, print_ast, validate
from graphql.language import DefinitionNode

from rightseat.config.settings import GraphQLLimits
from rightseat.doors.copilotkit.graphql_document import SDL, get_schema, prepare_document
from rightseat.doors.copilotkit.runtime_events import RuntimeEventTypes
from tests.unit.doors.copilotkit.client import DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT

# What the peer's runtime printed of itself; only where the work began has it.
RECORDED = Path(__file__).resolve().parents[5] / "shared" / "wire" / "copilotkit"
DESCRIPTION = re.compile(r'"""[^"]*"""')
OLDER = """mutation generateCopilotResponse($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    threadId
    ... @defer { status { ... on BaseResponseStatus { code } ... on FailedResponseStatus { reason } } }
    messages @stream {
      __typename
      ... on BaseMessageOutput { id createdAt }
      ... on BaseMessageOutput @defer { status { ... on SuccessMessageStatus { code } } }
      ... on TextMessageOutput { content @stream }
      ... on ActionExecutionMessageOutput { name scope arguments @stream }
      ... on ResultMessageOutput { result actionExecutionId actionName }
    }
  }
}"""


# What differs from the recorded schema: messages need no id, and statuses have the names of older descriptions.
CHANGED = {"MessageInput", "PendingResponseStatus", "SuccessResponseStatus", "FailedResponseStatus"}
EVENTS = {*RuntimeEventTypes, "CopilotResponseStarted", "CopilotResponseFinished"}
ADDED = {"UnknownErrorResponse", "Subscription", "RuntimeEvent", *EVENTS}


def get_name(definition: str) -> str:
    return definition.partition("{")[0].split()[1]


def normalise_definitions(text: str) -> set[str]:
    """Each definition in one form, whatever its order and its description."""

    def bare(node: DefinitionNode) -> str:
        printed = print_ast(node)
        head, _, inside = printed.partition("{")
        lines = [line.strip().rstrip(",") for line in inside.split("\n") if line.strip() not in ("", "}")]
        return head.strip() + "{" + ";".join(sorted(sorted_arguments(line) for line in lines)) + "}"

    return {bare(node) for node in parse(DESCRIPTION.sub("", text)).definitions}


def sorted_arguments(line: str) -> str:
    head, bracket, rest = line.partition("(")
    inside, close, tail = rest.partition(")")
    return head + bracket + ", ".join(sorted(inside.split(", "))) + close + tail


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not part of the project")
def test_every_definition_is_as_recorded() -> None:
    recorded = normalise_definitions((RECORDED / "schema.graphql").read_text("utf-8"))
    ours = normalise_definitions(SDL)
    assert {get_name(definition) for definition in recorded - ours} == CHANGED
    assert {get_name(definition) for definition in ours - recorded} == CHANGED | ADDED


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not part of the project")
def test_what_is_changed_takes_and_gives_what_was_recorded() -> None:
    """Changed types have all recorded fields; only an input's may be left out."""
    recorded, ours = build_schema((RECORDED / "schema.graphql").read_text("utf-8")), build_schema(SDL)
    for name in CHANGED:
        theirs: Any = recorded.type_map[name]
        mine: Any = ours.type_map[name]
        for field_name, field in theirs.fields.items():
            loose = str(field.type).rstrip("!") if is_input_type(theirs) else str(field.type)
            assert str(mine.fields[field_name].type) in (str(field.type), loose)


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
def test_the_schema_is_sound() -> None:
    build_schema(SDL)
    for document in (DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT, OLDER):
        assert validate(get_schema(), parse(document)) == []
    assert {d.name for d in get_schema().directives} >= {"defer", "stream", "skip", "include"}


@pytest.mark.demand("copilotkit.valid_document_works_through")
@pytest.mark.parametrize("document", [DOCUMENT, OLDER])
def test_documents_of_the_clients_have_a_plan(document: str) -> None:
    prepared = prepare_document(document, "generateCopilotResponse", False, GraphQLLimits())
    assert prepared.plan is not None
    assert prepared.plan.data == "data"
    assert prepared.plan.messages["TextMessageOutput"].fields[:3] == ("__typename", "id", "createdAt")
    assert prepare_document(document, "generateCopilotResponse", False, GraphQLLimits()) is prepared


@pytest.mark.demand("copilotkit.valid_document_works_through")
@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not part of the project")
def test_the_recorded_document_has_the_same_plan() -> None:
    for name in ("text", "agent/agent_lg"):
        lines = (RECORDED / f"{name}.txt").read_text("utf-8").splitlines()
        [posted] = [json.loads(line) for line in lines if line.startswith('{"operationName"')]
        assert (
            prepare_document(posted["query"], posted["operationName"], False, GraphQLLimits()).plan
            == prepare_document(DOCUMENT, None, False, GraphQLLimits()).plan
        )


@pytest.mark.demand("copilotkit.valid_document_works_through")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("threadId\n", "id: threadId\n"),
        ("content @stream role", "content role"),
        ("content @stream role", "content @stream(initialCount: 1) role"),
        ("... on BaseMessageOutput @defer {", "... on BaseMessageOutput {"),
        ("... on CopilotResponse @defer {", '... on CopilotResponse @defer(label: "x") {'),
        ("... on BaseMessageOutput { id", "... on BaseMessageOutput @include(if: true) { id"),
        ("messages @stream {", "messages {"),
        ("runId\n", "runId @skip(if: false)\n"),
    ],
)
def test_what_is_not_of_their_shape_has_none(old: str, new: str) -> None:
    assert old in DOCUMENT
    prepared = prepare_document(DOCUMENT.replace(old, new, 1), None, False, GraphQLLimits())
    assert prepared.plan is None


def test_plans_are_for_streams_only() -> None:
    assert prepare_document(UNSTREAMED_DOCUMENT, None, False, GraphQLLimits()).plan is None


@pytest.mark.io
def test_graphql_core_is_not_loaded_before_it_is_needed() -> None:
    """It is large: who serves no such client has it neither in memory nor in the start."""
    code = "import sys, rightseat.doors.copilotkit; sys.exit('graphql' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
