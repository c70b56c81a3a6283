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

from rightseat.doors.copilotkit.nodes import iter_operation_nodes
from rightseat.doors.copilotkit.variables import decode_variables
from rightseat.errors import CallerError


@dataclass(frozen=True, slots=True)
class StreamingMode:
    always: bool
    switches: dict[str, bool]
    """Variables that switch streaming on, each with its default."""

    def is_enabled(self, variables: msgspec.Raw) -> bool:
        if self.always or not self.switches:
            return self.always
        try:
            values = decode_variables(variables) or {}
        except CallerError:
            values = {}  # refused later, with an error
        known = self.switches | values
        return any(known[name] is True for name in self.switches)


def find_streaming(document: DocumentNode, operation: OperationDefinitionNode) -> StreamingMode:
    always = False
    names: list[str] = []
    for directive in iter_operation_nodes(document, operation, DirectiveNode):
        if directive.name.value not in ("defer", "stream"):
            continue
        match next((a.value for a in directive.arguments or () if a.name.value == "if"), None):
            case VariableNode() as variable:
                names.append(variable.name.value)
            case BooleanValueNode() as literal:
                always = always or literal.value
            case _:
                always = True
    return StreamingMode(always, {name: get_variable_default(name, operation) for name in names})


def get_variable_default(name: str, operation: OperationDefinitionNode) -> bool:
    """Return a variable's default; True, the directive's own default, if it has none."""
    for definition in operation.variable_definitions or ():
        value = definition.default_value
        if definition.variable.name.value == name and isinstance(value, BooleanValueNode):
            return value.value
    return True
