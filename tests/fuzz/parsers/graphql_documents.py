"""GraphQL documents at the CopilotKit door: parsed, limited, validated, compiled to a plan and executed."""

import json

from graphql import language

from rightseat.config.settings import GraphQLLimits
from rightseat.doors.copilotkit.agui_endpoint import PATH
from rightseat.doors.copilotkit.graphql_document import InvalidDocument, PreparedDocument, prepare_document
from rightseat.doors.copilotkit.routes import RUN_INPUT
from tests.fuzz.parsers.door_app import DoorApp
from tests.fuzz.parsers.target import ParserTarget, require

LIMITS = GraphQLLimits()
VARIABLES = {"data": RUN_INPUT, "properties": {}}
MULTIPART = ("accept", "multipart/mixed, application/json")


def prepare(text: str, *, introspection: bool = True) -> PreparedDocument | None:
    """Return the prepared document; None for one that is refused."""
    try:
        # Past its cache: the same document must be read again.
        return prepare_document.__wrapped__(text, None, introspection, LIMITS)
    except InvalidDocument as error:
        json.dumps(error.errors)
        return None


class GraphQLDocuments(ParserTarget):
    name = "graphql"
    traced = ("doors/copilotkit",)
    words = (
        *(b"query", b"mutation", b"subscription", b"fragment F on ", b"...F", b"...", b"on CopilotResponse", b"@defer"),
        *(b"@stream", b"@skip(if: true)", b"@include(if: $x)"),
        *(b"(data: $data)", b"$data: GenerateCopilotResponseInput!"),
        *(b"__typename", b"__schema{types{name}}", b"__type(name:"),
        *(b"generateCopilotResponse", b"availableAgents{agents{name}}"),
        *(b"messages", b"content", b"status", b"metaEvents", b"threadId", b"a:"),
        *(b"{", b"}", b'"""', b'"\\u0000"', b"#c\n"),
        *(b"hello", b"loadAgentState(data:{threadId:\"t\",agentName:\"default\"}){threadExists}", b"[1,{a:$b}]"),
        *(b"type A{b:C}",),
        *(b"... on TextMessageOutput{content @stream}", b"extensions{openaiAssistantAPI{runId}}", b", "),
        *(b"if: $x", b"label: "),
    )  # fmt: skip
    base_seconds = 0.5
    seconds_per_byte = 100e-6
    max_bytes = 60_000

    def __init__(self) -> None:
        self._app = DoorApp()

    def close(self) -> None:
        self._app.close()

    def parse(self, data: bytes) -> None:
        prepare(data.decode("utf-8", "replace"))

    def check(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        prepared = prepare(text)
        hidden = prepare(text, introspection=False)
        require(prepared is not None or hidden is None, "a document is taken only without introspection", text)
        body = json.dumps({"query": text, "variables": VARIABLES}).encode()
        for headers in ((), (MULTIPART,)):
            answer = self._app.send("POST", PATH, headers, body)
            require(answer.status < 500, "a document is answered with a server error", answer)
            if prepared is None:
                require(b'"errors"' in answer.body, "an invalid document is answered without errors", answer)
        if prepared is not None:
            check_printed(language.print_ast(language.parse(text, max_tokens=LIMITS.max_tokens)))


def check_printed(printed: str) -> None:
    """A document that is taken is also taken as graphql-core prints it."""
    if len(printed) <= LIMITS.max_characters:
        require(prepare(printed) is not None, "a document is refused as it is printed", printed)
