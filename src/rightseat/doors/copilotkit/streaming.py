"""Find out whether a document streams its answer: by @defer and @stream of the operation, which variables may
switch."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from graphql.language import (
    BooleanValueNode,
    DirectiveNode,
    DocumentNode,
    OperationDefinitionNode,
    VariableNode,
)

from rightseat.doors.copilotkit.nodes import reached
from rightseat.doors.copilotkit.variables import loose
from rightseat.errors import CallerError


@dataclass(frozen=True, slots=True)
class Streaming:
    always: bool
    switches: dict[str, bool]
    """Variables that switch streaming on, each with its default."""

    def on(self, variables: msgspec.Raw) -> bool:
        if self.always or not self.switches:
            return self.always
        try:
            given = loose(variables) or {}
        except CallerError:
            given = {}  # refused later, with an error
        known = self.switches | given
        return any(known[name] is True for name in self.switches)


def found(document: DocumentNode, operation: OperationDefinitionNode) -> Streaming:
    always = False
    names: list[str] = []
    for directive in reached(document, operation, DirectiveNode):
        if directive.name.value not in ("defer", "stream"):
            continue
        match next((a.value for a in directive.arguments or () if a.name.value == "if"), None):
            case VariableNode() as variable:
                names.append(variable.name.value)
            case BooleanValueNode() as literal:
                always = always or literal.value
            case _:
                always = True
    return Streaming(always, {name: default(name, operation) for name in names})


def default(name: str, operation: OperationDefinitionNode) -> bool:
    """Return a variable's default; True, the directive's own default, if it has none."""
    for definition in operation.variable_definitions or ():
        value = definition.default_value
        if definition.variable.name.value == name and isinstance(value, BooleanValueNode):
            return value.value
    return True
