"""A document of the real clients, compiled: which fields stand where, so that frames can be written by hand.

Known by its structure, not by its text: every version from 1.0 to 1.10.6 asks for other fields. What has
anything else in it (aliases, named fragments, arguments of directives, a status or a text that is not
streamed) is no plan, and graphql-core executes it.
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
# Objects whose own fields matter; `extensions` is always null.
OPENED = ("status", "messages", "metaEvents", "extensions")


class Unplanned(Exception):
    """The document is not of the clients' shape."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one type in their order: those sent at once, and those that follow with the status."""

    fields: tuple[str, ...]
    later: tuple[str, ...] = ()
    status: dict[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    response: Shape
    messages: dict[str, Shape]
    interrupt: tuple[str, ...] | None
    data: str
    """The variable that holds the input, and the one with the properties."""
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
    """The kinds of message that the client is told of. One before 1.3, which names all of its own, knows no
    states, and breaks at what it does not know."""
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
    """What a selection asks of one type."""

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
            # Only a name would follow, which clients have already.
            return Shape(tuple(self.now))
        told = {kind: Collected(kind, status.selection_set) for kind in statuses}
        if any(found.later for found in told.values()):
            raise Unplanned
        return Shape(tuple(self.now), tuple(self.later), {kind: tuple(c.now) for kind, c in told.items()})


def bare(directives: tuple[DirectiveNode, ...] | None, name: str) -> bool:
    """Whether there is just this directive, as it is; false where there is none."""
    if not directives:
        return False
    if len(directives) != 1 or directives[0].name.value != name or directives[0].arguments:
        raise Unplanned
    return True
