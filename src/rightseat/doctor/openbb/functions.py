"""The client's functions and the arguments that it validates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from rightseat.doctor.openbb.fault import Fault, find_type_error

GET_WIDGET_DATA = "get_widget_data"


class WidgetDataSource(Struct):
    origin: str
    id: str
    input_args: dict[str, Any]
    widget_uuid: str | UnsetType = UNSET


class WidgetDataArguments(Struct):
    data_sources: list[WidgetDataSource]


class ParamOptionsQuery(Struct):
    origin: str
    id: str
    param: str
    options_endpoint_input_args: dict[str, Any]


class ParamOptionsArguments(Struct):
    param_options_queries: list[ParamOptionsQuery]


class GenerativeWidgetArguments(Struct):
    widget_type: Literal["chart", "table", "note", "html"]
    data: Any
    name: str
    description: str | None = None
    chart_params: dict[str, Any] | None = None


class NavigationTab(Struct):
    name: str


class TabsOperation(Struct, tag_field="operation"):
    tabs: list[NavigationTab]


class CreateTabs(TabsOperation, tag="create"):
    pass


class AddTabs(TabsOperation, tag="add_tabs"):
    pass


class RemoveTabs(TabsOperation, tag="remove_tabs"):
    pass


class RenameTabs(Struct, tag_field="operation", tag="rename_tabs"):
    names: dict[str, str] = field(name="rename_map")


class AgentTask(Struct):
    id: str
    description: str
    assigned_holder_url: str
    assigned_agent_id: str


class AgentTasksArguments(Struct):
    task_requests: list[AgentTask]


class AgentToolArguments(Struct):
    server_id: str
    tool_name: str
    parameters: dict[str, Any]


class SkillContentArguments(Struct):
    slug: str
    reason: str | None = None


class SaveSkillArguments(Struct):
    name: str | None = None
    instructions: str | None = None


class LegacyWidgetArguments(Struct):
    """Arguments of the client of 2024."""

    widget_uuid: str


FUNCTION_ARGUMENTS: dict[str, Any] = {
    GET_WIDGET_DATA: WidgetDataArguments,
    "get_extra_widget_data": WidgetDataArguments,
    "get_params_options": ParamOptionsArguments,
    "add_widget_to_dashboard": WidgetDataArguments,
    "update_widget_in_dashboard": WidgetDataArguments,
    "add_generative_widget": GenerativeWidgetArguments,
    "manage_navigation_bar": CreateTabs | AddTabs | RemoveTabs | RenameTabs,
    "assign_tasks_to_agents": AgentTasksArguments,
    "execute_agent_tool": AgentToolArguments,
    "get_skill_content": SkillContentArguments,
    "save_skill": SaveSkillArguments,
}
LEGACY_FUNCTION_ARGUMENTS: dict[str, Any] = {GET_WIDGET_DATA: LegacyWidgetArguments}
EXTRA_STATE_FIX = (
    'send e.g. "extra_state": {"copilot_function_call_arguments": {"widget_queries": [{"widget_uuid": …}]}}'
)
MISSING_EXTRA_STATE = Fault(
    "without extra_state the client deletes the call and its result, and asks the same again", EXTRA_STATE_FIX
)


def check_call(function: str, arguments: dict[str, Any], state: Any, *, old: bool) -> Iterator[Fault]:
    known = LEGACY_FUNCTION_ARGUMENTS if old else FUNCTION_ARGUMENTS
    if function not in known:
        yield Fault(f"the client has no function {function[:60]!r}", f"call one of {', '.join(known)}")
        return
    if why := find_type_error(arguments, known[function]):
        yield Fault(f"{function}: {why}", explain_arguments(function, old=old))
    if function == GET_WIDGET_DATA and not old and not state:
        yield MISSING_EXTRA_STATE


def explain_arguments(function: str, *, old: bool) -> str:
    if function != GET_WIDGET_DATA:
        return "send the arguments in that form: the client throws before it does anything"
    if old:
        return 'where widgets are a list, send "input_arguments": {"widget_uuid": …}'
    source = '{"widget_uuid": …, "origin": …, "id": …, "input_args": {…}}'
    return f'where widgets are a table, send "input_arguments": {{"data_sources": [{source}]}}'
