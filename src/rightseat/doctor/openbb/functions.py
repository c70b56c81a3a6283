"""The client's functions and the arguments that it validates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from rightseat.doctor.openbb.fault import Fault, misfit

GET_WIDGET = "get_widget_data"


class Source(Struct):
    origin: str
    id: str
    input_args: dict[str, Any]
    widget_uuid: str | UnsetType = UNSET


class Sources(Struct):
    data_sources: list[Source]


class OptionsQuery(Struct):
    origin: str
    id: str
    param: str
    options_endpoint_input_args: dict[str, Any]


class Options(Struct):
    param_options_queries: list[OptionsQuery]


class Generative(Struct):
    widget_type: Literal["chart", "table", "note", "html"]
    data: Any
    name: str
    description: str | None = None
    chart_params: dict[str, Any] | None = None


class Tab(Struct):
    name: str


class Tabs(Struct, tag_field="operation"):
    tabs: list[Tab]


class Create(Tabs, tag="create"):
    pass


class Add(Tabs, tag="add_tabs"):
    pass


class Remove(Tabs, tag="remove_tabs"):
    pass


class Rename(Struct, tag_field="operation", tag="rename_tabs"):
    names: dict[str, str] = field(name="rename_map")


class Task(Struct):
    id: str
    description: str
    assigned_holder_url: str
    assigned_agent_id: str


class Tasks(Struct):
    task_requests: list[Task]


class Execution(Struct):
    server_id: str
    tool_name: str
    parameters: dict[str, Any]


class Skill(Struct):
    slug: str
    reason: str | None = None


class NewSkill(Struct):
    name: str | None = None
    instructions: str | None = None


class Listed(Struct):
    """Arguments of the client of 2024."""

    widget_uuid: str


FUNCTIONS: dict[str, Any] = {
    GET_WIDGET: Sources,
    "get_extra_widget_data": Sources,
    "get_params_options": Options,
    "add_widget_to_dashboard": Sources,
    "update_widget_in_dashboard": Sources,
    "add_generative_widget": Generative,
    "manage_navigation_bar": Create | Add | Remove | Rename,
    "assign_tasks_to_agents": Tasks,
    "execute_agent_tool": Execution,
    "get_skill_content": Skill,
    "save_skill": NewSkill,
}
THEN: dict[str, Any] = {GET_WIDGET: Listed}
STATE = (
    'send e.g. "extra_state": {"copilot_function_call_arguments": {"widget_queries": [{"widget_uuid": …}]}}'
)
LOST = Fault("without extra_state the client deletes the call and its result, and asks the same again", STATE)


def judged(function: str, arguments: dict[str, Any], state: Any, *, old: bool) -> Iterator[Fault]:
    known = THEN if old else FUNCTIONS
    if function not in known:
        yield Fault(f"the client has no function {function[:60]!r}", f"call one of {', '.join(known)}")
        return
    if why := misfit(arguments, known[function]):
        yield Fault(f"{function}: {why}", form(function, old=old))
    if function == GET_WIDGET and not old and not state:
        yield LOST


def form(function: str, *, old: bool) -> str:
    if function != GET_WIDGET:
        return "send the arguments in that form: the client throws before it does anything"
    if old:
        return 'where widgets are a list, send "input_arguments": {"widget_uuid": …}'
    source = '{"widget_uuid": …, "origin": …, "id": …, "input_args": {…}}'
    return f'where widgets are a table, send "input_arguments": {{"data_sources": [{source}]}}'
