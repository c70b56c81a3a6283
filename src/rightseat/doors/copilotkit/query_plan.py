"""Compile a client's document to a ResponsePlan (which fields are selected where), and write the frames of a plan
by hand: what graphql-core would send, at less cost per token.

Documents are recognized by structure, because every version from 1.0 to 1.10.6 selects other fields. A
document with anything else (aliases, named fragments, arguments of directives, a status or text that is not
streamed) has no plan, and graphql-core executes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from graphql import language

from rightseat.doors.copilotkit.framing import ChunkFrames
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.doors.copilotkit.response import Status, format_extensions

encode = msgspec.json.Encoder().encode
ROOT = "generateCopilotResponse"
MESSAGE_TYPES = (
    "TextMessageOutput",
    "ActionExecutionMessageOutput",
    "ResultMessageOutput",
    "AgentStateMessageOutput",
    "ImageMessageOutput",
)
STATE_MESSAGE = "AgentStateMessageOutput"
BASE_MESSAGE_TYPES = ("TextMessageOutput", "ActionExecutionMessageOutput", "ResultMessageOutput")
MESSAGE_STATUSES = ("PendingMessageStatus", "SuccessMessageStatus", "FailedMessageStatus")
RESPONSE_STATUSES = ("PendingResponseStatus", "SuccessResponseStatus", "FailedResponseStatus")
INTERRUPT = "LangGraphInterruptEvent"
INTERFACES = {
    **dict.fromkeys(MESSAGE_TYPES, "BaseMessageOutput"),
    **dict.fromkeys(MESSAGE_STATUSES, "MessageStatus"),
    **dict.fromkeys(RESPONSE_STATUSES, "BaseResponseStatus"),
    INTERRUPT: "BaseMetaEvent",
}
UNIONS = dict.fromkeys(RESPONSE_STATUSES, "ResponseStatus")
# A second interface: the name that older descriptions of the protocol have for a failure.
FAILURES = {"FailedResponseStatus": "UnknownErrorResponse"}
STREAM_FIELDS = ("messages", "metaEvents", "content", "arguments")
# Fields that may have a selection.
OBJECT_FIELDS = ("status", "messages", "metaEvents", "extensions")


class NotPlannable(Exception):
    """Raised for a document that does not have the clients' structure."""


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """The selected fields of one type in order: those sent at once, and those deferred with the status."""

    fields: tuple[str, ...]
    deferred: tuple[str, ...] = ()
    status: dict[str, tuple[str, ...]] | None = None


ExtensionFields = dict[str, tuple[str, ...] | None]
"""Selected fields of the response's `extensions`, each with the fields selected in it; None for one without any."""


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    response: FieldSelection
    messages: dict[str, FieldSelection]
    interrupt: tuple[str, ...] | None
    extensions: ExtensionFields
    data: str
    """Names of the variables for `data` and `properties`."""
    properties: str | None


def try_compile_plan(operation: language.OperationDefinitionNode) -> ResponsePlan | None:
    try:
        return compile_plan(operation)
    except NotPlannable:
        return None


def compile_plan(operation: language.OperationDefinitionNode) -> ResponsePlan:
    (root, *others) = operation.selection_set.selections
    if others or not isinstance(root, language.FieldNode):
        raise NotPlannable
    if operation.directives or root.name.value != ROOT or root.alias or root.directives:
        raise NotPlannable
    if any(variable.default_value for variable in operation.variable_definitions or ()):
        raise NotPlannable
    arguments = {argument.name.value: argument.value for argument in root.arguments or ()}
    names = {name: value.name.value for name, value in arguments.items() if isinstance(value, language.VariableNode)}
    if len(names) != len(arguments) or root.selection_set is None:
        raise NotPlannable
    response = SelectionCollector("CopilotResponse", root.selection_set)
    messages = response.get_selection("messages")
    events = response.get_selection("metaEvents")
    return ResponsePlan(
        response.build_selection(RESPONSE_STATUSES),
        build_message_selections(messages) if messages else {},
        SelectionCollector(INTERRUPT, events).build_selection(()).fields if events else None,
        build_extension_fields(response.get_selection("extensions")),
        names["data"],
        names.get("properties"),
    )


def build_message_selections(messages: language.SelectionSetNode) -> dict[str, FieldSelection]:
    """Build the selections of the message types to send. Clients before 1.3 do not know agent states and fail on
    unknown types; their documents name all types that they know."""
    fragments = (node for node in messages.selections if isinstance(node, language.InlineFragmentNode))
    named = {node.type_condition.name.value for node in fragments if node.type_condition}
    knows_states = STATE_MESSAGE in named or not named.issuperset(BASE_MESSAGE_TYPES)
    kinds = [kind for kind in MESSAGE_TYPES if knows_states or kind != STATE_MESSAGE]
    return {kind: SelectionCollector(kind, messages).build_selection(MESSAGE_STATUSES) for kind in kinds}


def build_extension_fields(selections: language.SelectionSetNode | None) -> ExtensionFields:
    if selections is None:
        return {}
    collector = SelectionCollector("ExtensionsResponse", selections)
    inner = {name: collector.get_selection(name) for name in collector.immediate}
    fields = {
        name: None if selection is None else SelectionCollector("OpenAIApiAssistantAPIResponse", selection)
        for name, selection in inner.items()
    }
    if collector.deferred or any(nested and nested.deferred for nested in fields.values()):
        raise NotPlannable
    return {name: None if nested is None else tuple(nested.immediate) for name, nested in fields.items()}


class SelectionCollector:
    """Collects the fields that a selection has for one type."""

    def __init__(self, kind: str, selections: language.SelectionSetNode) -> None:
        self.kind = kind
        self.immediate: dict[str, language.FieldNode] = {}
        self.deferred: dict[str, language.FieldNode] = {}
        self.collect(selections, self.immediate)

    def collect(self, selections: language.SelectionSetNode, into: dict[str, language.FieldNode]) -> None:
        for selection in selections.selections:
            match selection:
                case language.FieldNode():
                    self.add_field(selection, into)
                case language.InlineFragmentNode() if self.applies(selection):
                    deferred = has_only_directive(selection.directives, "defer")
                    if deferred and into is self.deferred:
                        raise NotPlannable
                    self.collect(selection.selection_set, self.deferred if deferred else into)
                case language.InlineFragmentNode():
                    has_only_directive(selection.directives, "defer")
                case _:
                    raise NotPlannable

    def applies(self, fragment: language.InlineFragmentNode) -> bool:
        condition = fragment.type_condition
        if condition is None:
            return True
        kind = self.kind
        return condition.name.value in (kind, INTERFACES.get(kind), UNIONS.get(kind), FAILURES.get(kind))

    def add_field(self, field: language.FieldNode, into: dict[str, language.FieldNode]) -> None:
        name = field.name.value
        if field.alias or field.arguments:
            raise NotPlannable
        if has_only_directive(field.directives, "stream") != (name in STREAM_FIELDS):
            raise NotPlannable
        if (name == "status" and into is self.immediate) or (name in into and field.selection_set):
            raise NotPlannable
        into[name] = field

    def get_selection(self, name: str) -> language.SelectionSetNode | None:
        return self.immediate[name].selection_set if name in self.immediate else None

    def build_selection(self, statuses: tuple[str, ...]) -> FieldSelection:
        if not set(self.deferred) <= {"status", "__typename"}:
            raise NotPlannable
        if any(field.selection_set and name not in OBJECT_FIELDS for name, field in self.immediate.items()):
            raise NotPlannable
        status = self.deferred.get("status")
        if status is None or status.selection_set is None:
            # Only `__typename` would be deferred, which clients have already.
            return FieldSelection(tuple(self.immediate))
        status_selections = {kind: SelectionCollector(kind, status.selection_set) for kind in statuses}
        if any(collector.deferred for collector in status_selections.values()):
            raise NotPlannable
        status_fields = {kind: tuple(collector.immediate) for kind, collector in status_selections.items()}
        return FieldSelection(tuple(self.immediate), tuple(self.deferred), status_fields)


def has_only_directive(directives: tuple[language.DirectiveNode, ...] | None, name: str) -> bool:
    """Whether the only directive is this one, without arguments; False if there is none."""
    if not directives:
        return False
    if len(directives) != 1 or directives[0].name.value != name or directives[0].arguments:
        raise NotPlannable
    return True


STREAMED_FIELDS = {"TextMessageOutput": "content", "ActionExecutionMessageOutput": "arguments"}
MESSAGES_PATH = b'"path":["%b","messages",' % ROOT.encode()
EVENTS_PATH = b'"path":["%b","metaEvents",' % ROOT.encode()
RESPONSE_PATH = b'"path":["%b"]}' % ROOT.encode()
UNSELECTED = 1 << 60
"""Message number for all messages that the document does not select."""


class PlannedResponseWriter:
    """A ResponseSink that encodes frames by a plan. It holds the entries since the last frame, and kind and
    chunk count of each open message: memory does not grow with the answer."""

    def __init__(self, plan: ResponsePlan, request: CopilotKitRequest, *, sized: bool = True) -> None:
        self.plan = plan
        self.request = request
        self.sized = sized
        self.entries: list[bytes] = []
        self.extensions: dict[str, Any] = {}
        self.finished = False
        self.message_count = 0
        self.event_count = 0
        self.kinds: dict[int, str] = {}
        self.chunks: dict[int, ChunkFrames] = {}

    def encode_first(self) -> bytes:
        known: dict[str, Any] = {
            "__typename": "CopilotResponse",
            "threadId": self.request.turn.thread,
            "runId": self.request.run,
            "extensions": None,
            "messages": [],
            "metaEvents": [],
        }
        selected = {name: known[name] for name in self.plan.response.fields}
        return encode({"data": {ROOT: selected}, "hasNext": True})

    def take_frame(self) -> bytes:
        """Return and clear the next frame; the last one has `hasNext` false."""
        more = b'"hasNext":false}' if self.finished else b'"hasNext":true}'
        if self.finished and self.extensions:
            more = b'"extensions":' + encode(self.extensions) + b"," + more
        if not self.entries:
            return b"{" + more
        joined = b",".join(self.entries)
        self.entries.clear()
        return b'{"incremental":[' + joined + b"]," + more

    # ResponseSink.

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        shape = self.plan.messages.get(kind)
        if shape is None:
            return UNSELECTED
        number = self.message_count
        self.message_count += 1
        self.kinds[number] = kind
        streamed_field = STREAMED_FIELDS.get(kind, "")
        known = {**fields, "__typename": kind, streamed_field: []}
        item = encode({name: known[name] for name in shape.fields})
        self.entries.append(b'{"items":[%b],%b%d]}' % (item, MESSAGES_PATH, number))
        if streamed_field in shape.fields:
            path = b'],%b%d,"%b",' % (MESSAGES_PATH, number, streamed_field.encode())
            self.chunks[number] = ChunkFrames(path, sized=self.sized)
        return number

    def add_chunk(self, number: int, text: str) -> None:
        if frames := self.chunks.get(number):
            self.entries.append(b'{"items":[%b%b%d]}' % (encode(text), frames.path, frames.count))
            frames.count += 1

    def set_status(self, number: int, status: Status) -> None:
        self.chunks.pop(number, None)
        kind = self.kinds.pop(number, "")
        shape = self.plan.messages.get(kind)
        if shape is not None and shape.status is not None:
            data = encode(make_deferred_fields(shape, kind, status))
            self.entries.append(b'{"data":%b,%b%d]}' % (data, MESSAGES_PATH, number))

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        if self.plan.interrupt is not None:
            item = encode({name: fields[name] for name in self.plan.interrupt})
            self.entries.append(b'{"items":[%b],%b%d]}' % (item, EVENTS_PATH, self.event_count))
            self.event_count += 1

    def add_extension(self, name: str, value: Any) -> None:
        self.extensions[name] = value

    def set_extensions(self, values: dict[str, Any]) -> None:
        """Send `extensions` as a later part of the response: the first frame, in which they are null, is out."""
        if self.plan.extensions:
            known = format_extensions(values)
            selected = {name: select_extension(known[name], fields) for name, fields in self.plan.extensions.items()}
            self.entries.append(b'{"data":%b,%b' % (encode({"extensions": selected}), RESPONSE_PATH))

    def finish(self, status: Status) -> None:
        self.finished = True
        shape = self.plan.response
        if shape.status is not None:
            data = encode(make_deferred_fields(shape, "CopilotResponse", status))
            self.entries.append(b'{"data":%b,%b' % (data, RESPONSE_PATH))


def select_extension(value: Any, fields: tuple[str, ...] | None) -> Any:
    return value if fields is None or value is None else {name: value[name] for name in fields}


def make_deferred_fields(shape: FieldSelection, kind: str, status: Status) -> dict[str, Any]:
    assert shape.status is not None
    status_fields = {name: status[name] for name in shape.status[status["__typename"]]}
    return {name: status_fields if name == "status" else kind for name in shape.deferred}
