"""Compile a client's document to a ResponsePlan: which fields are selected where, so that frames can be
written by hand.

Documents are recognized by structure, because every version from 1.0 to 1.10.6 selects other fields. A
document with anything else (aliases, named fragments, arguments of directives, a status or text that is not
streamed) has no plan, and graphql-core executes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphql.language import (
    DirectiveNode,
    FieldNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

ROOT = "generateCopilotResponse"
MESSAGE_TYPES = (
    "TextMessageOutput",
    "ActionExecutionMessageOutput",
    "ResultMessageOutput",
    "AgentStateMessageOutput",
    "ImageMessageOutput",
)
STATE = "AgentStateMessageOutput"
SPOKEN = ("TextMessageOutput", "ActionExecutionMessageOutput", "ResultMessageOutput")
MESSAGE_STATUSES = ("PendingMessageStatus", "SuccessMessageStatus", "FailedMessageStatus")
RESPONSE_STATUSES = ("PendingResponseStatus", "SuccessResponseStatus", "FailedResponseStatus")
INTERRUPT = "LangGraphInterruptEvent"
ABOVE = {
    **dict.fromkeys(MESSAGE_TYPES, "BaseMessageOutput"),
    **dict.fromkeys(MESSAGE_STATUSES, "MessageStatus"),
    **dict.fromkeys(RESPONSE_STATUSES, "BaseResponseStatus"),
    INTERRUPT: "BaseMetaEvent",
}
UNIONS = dict.fromkeys(RESPONSE_STATUSES, "ResponseStatus")
STREAMED = ("messages", "metaEvents", "content", "arguments")
# Fields that may have a selection; `extensions` is always null.
OPENED = ("status", "messages", "metaEvents", "extensions")


class Unplanned(Exception):
    """Raised for a document that does not have the clients' structure."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The selected fields of one type in order: those sent at once, and those deferred with the status."""

    fields: tuple[str, ...]
    later: tuple[str, ...] = ()
    status: dict[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    response: Shape
    messages: dict[str, Shape]
    interrupt: tuple[str, ...] | None
    data: str
    """Names of the variables for `data` and `properties`."""
    properties: str | None


def planned(operation: OperationDefinitionNode) -> Plan | None:
    try:
        return compiled(operation)
    except Unplanned:
        return None


def compiled(operation: OperationDefinitionNode) -> Plan:
    root = only(operation.selection_set)
    if operation.directives or root.name.value != ROOT or root.alias or root.directives:
        raise Unplanned
    if any(variable.default_value for variable in operation.variable_definitions or ()):
        raise Unplanned
    arguments = {argument.name.value: argument.value for argument in root.arguments or ()}
    names = {name: value.name.value for name, value in arguments.items() if isinstance(value, VariableNode)}
    if len(names) != len(arguments) or root.selection_set is None:
        raise Unplanned
    response = Collected("CopilotResponse", root.selection_set)
    messages = response.inside("messages")
    events = response.inside("metaEvents")
    return Plan(
        response.shape(RESPONSE_STATUSES),
        {kind: Collected(kind, messages).shape(MESSAGE_STATUSES) for kind in shown(messages)}
        if messages
        else {},
        Collected(INTERRUPT, events).shape(()).fields if events else None,
        names["data"],
        names.get("properties"),
    )


def shown(messages: SelectionSetNode) -> tuple[str, ...]:
    """Return the message types to send. Clients before 1.3 do not know agent states and fail on unknown
    types; their documents name all types that they know."""
    fragments = (one for one in messages.selections if isinstance(one, InlineFragmentNode))
    named = {one.type_condition.name.value for one in fragments if one.type_condition}
    if STATE in named or not named.issuperset(SPOKEN):
        return MESSAGE_TYPES
    return tuple(kind for kind in MESSAGE_TYPES if kind != STATE)


def only(selections: SelectionSetNode) -> FieldNode:
    if len(selections.selections) != 1 or not isinstance(selections.selections[0], FieldNode):
        raise Unplanned
    return selections.selections[0]


class Collected:
    """Collects the fields that a selection has for one type."""

    def __init__(self, kind: str, selections: SelectionSetNode) -> None:
        self.kind = kind
        self.now: dict[str, FieldNode] = {}
        self.later: dict[str, FieldNode] = {}
        self.collect(selections, self.now)

    def collect(self, selections: SelectionSetNode, into: dict[str, FieldNode]) -> None:
        for selection in selections.selections:
            match selection:
                case FieldNode():
                    self.field(selection, into)
                case InlineFragmentNode() if self.applies(selection):
                    deferred = bare(selection.directives, "defer")
                    if deferred and into is self.later:
                        raise Unplanned
                    self.collect(selection.selection_set, self.later if deferred else into)
                case InlineFragmentNode():
                    bare(selection.directives, "defer")
                case _:
                    raise Unplanned

    def applies(self, fragment: InlineFragmentNode) -> bool:
        condition = fragment.type_condition
        if condition is None:
            return True
        return condition.name.value in (self.kind, ABOVE.get(self.kind), UNIONS.get(self.kind))

    def field(self, field: FieldNode, into: dict[str, FieldNode]) -> None:
        name = field.name.value
        if field.alias or field.arguments:
            raise Unplanned
        if bare(field.directives, "stream") != (name in STREAMED):
            raise Unplanned
        if (name == "status" and into is self.now) or (name in into and field.selection_set):
            raise Unplanned
        into[name] = field

    def inside(self, name: str) -> SelectionSetNode | None:
        return self.now[name].selection_set if name in self.now else None

    def shape(self, statuses: tuple[str, ...]) -> Shape:
        if not set(self.later) <= {"status", "__typename"}:
            raise Unplanned
        if any(field.selection_set and name not in OPENED for name, field in self.now.items()):
            raise Unplanned
        status = self.later.get("status")
        if status is None or status.selection_set is None:
            # Only `__typename` would be deferred, which clients have already.
            return Shape(tuple(self.now))
        told = {kind: Collected(kind, status.selection_set) for kind in statuses}
        if any(found.later for found in told.values()):
            raise Unplanned
        return Shape(tuple(self.now), tuple(self.later), {kind: tuple(c.now) for kind, c in told.items()})


def bare(directives: tuple[DirectiveNode, ...] | None, name: str) -> bool:
    """Whether the only directive is this one, without arguments; False if there is none."""
    if not directives:
        return False
    if len(directives) != 1 or directives[0].name.value != name or directives[0].arguments:
        raise Unplanned
    return True
