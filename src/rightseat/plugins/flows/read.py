"""Read flows/*.yaml into Flow values. Problems of a file are reported and affect that flow alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.plugins import document
from rightseat.plugins.document import PluginDocument
from rightseat.plugins.flows.flow import END, START, Flow, NextFlow, Step
from rightseat.plugins.flows.written import MAX_NAME_LENGTH, parse_number, parse_step, read_text
from rightseat.plugins.operation import Operation
from rightseat.plugins.place import KeyPath as Place
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import closest_match

FLOW_KEYS = (
    "name",
    "id",
    "description",
    "on_error",
    "steps",
    "next_flow",
    "max_steps",
    "timeout",
)
MAX_FILE_STEPS = 200
MAX_STEPS_LIMIT = 10_000
NONE = "none"
END_STEP = Step(name=END, kind=NONE)


class FlowFileReader:
    """Reads one flow file and collects its problems."""

    def __init__(self, plugin: str, document: PluginDocument) -> None:
        self.plugin = plugin
        self.document = document
        self.problems: list[Problem] = list(document.problems)

    def add_problem(self, path: Place, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.document.make_problem(path, what, fix, gravity))

    def read_flow(self) -> Flow | None:
        value = self.document.value
        if not isinstance(value, dict):
            self.add_problem((), "It is no flow.", "Write `name:`, `description:` and `steps:`.")
            return None
        self.check_unknown_keys(value, FLOW_KEYS, ())
        steps = self.read_steps(value.get("steps"))
        if not steps:
            return None
        description = read_text(value.get("description"))
        if not description:
            self.add_problem(
                ("description",),
                "It says nothing about what the flow does.",
                "Write one: a model chooses flows by it.",
                "warning",
            )
        flow = Flow(
            plugin=self.plugin,
            name=self.read_name(value),
            description=description,
            steps=steps,
            on_error=self.read_step(value["on_error"], ("on_error",), "on_error")
            if value.get("on_error")
            else None,
            next_flow=tuple(self.read_next_flows(value.get("next_flow"))),
            max_steps=int(self.read_number(value, "max_steps", 100, MAX_STEPS_LIMIT)),
            timeout=self.read_number(value, "timeout", 600.0, 86400.0),
            file=self.document.name,
        )
        return with_digest(flow)

    def read_name(self, value: dict[str, Any]) -> str:
        name = read_text(value.get("id")) or read_text(value.get("name"))
        if not name:
            name = Path(self.document.name).stem
            self.add_problem(("name",), f"It has none, and is called {name!r}.", "Write one.", "warning")
        if len(name) > MAX_NAME_LENGTH:
            self.add_problem(
                ("name",), f"It is longer than {MAX_NAME_LENGTH} characters.", "Write a shorter one."
            )
        return name

    def read_steps(self, steps_value: Any) -> dict[str, Step]:
        """Read steps given as a list with names, or as a mapping by name (later versions)."""
        listed: Iterable[tuple[str | int, Any]]
        if isinstance(steps_value, dict):
            listed = steps_value.items()
        else:
            listed = enumerate(steps_value if isinstance(steps_value, list) else ())
        steps: dict[str, Step] = {}
        for key, value in listed:
            place = ("steps", key)
            name = key if isinstance(key, str) else read_text(isinstance(value, dict) and value.get("name"))
            if not name:
                self.add_problem(place, "The step has no name.", "Write `name:`.")
            elif name in steps:
                self.add_problem(place, f"There are two steps called {name!r}.", "Rename one of them.")
            else:
                steps[name] = self.read_step(value, place, name) or make_placeholder_step(value, name)
        if not steps:
            self.add_problem(("steps",), "It has no steps.", f"Write at least one, called {START}.")
        if len(steps) > MAX_FILE_STEPS:
            self.add_problem(
                ("steps",), f"There are more than {MAX_FILE_STEPS}.", "Make several flows of it."
            )
        if END not in steps and any(one.next == END for one in steps.values()):
            steps[END] = END_STEP
        return steps

    def read_step(self, value: Any, place: Place, name: str) -> Step | None:
        try:
            step_value, remarks = parse_step(value, name)
        except ValueError as error:
            self.add_problem(place, str(error), "See the chapter on steps in docs/flows.md.")
            return None
        for key, what, fix, gravity in remarks:
            self.add_problem((*place, *key), what, fix, gravity)
        located = replace(step_value, line=self.document.line_index.find_line(place))
        if step_value.on_error is not None:
            inner = replace(
                step_value.on_error, line=self.document.line_index.find_line((*place, "on_error"))
            )
            located = replace(located, on_error=inner)
        return located

    def read_next_flows(self, value: Any) -> Iterator[NextFlow]:
        """Read follow-up flows: names, or objects with a question."""
        for number, one in enumerate(value if isinstance(value, list) else [value] if value else []):
            line = self.document.line_index.find_line(
                ("next_flow", number) if isinstance(value, list) else ("next_flow",)
            )
            match one:
                case str(name) if name.strip():
                    yield replace(parse_flow_reference(name.strip()), line=line)
                case {"flow": str(name)} | {"flow_id": str(name)} | {"id": str(name)} | {"name": str(name)}:
                    plugin = read_text(one.get("plugin") or one.get("plugin_id"))
                    target = parse_flow_reference(name.strip())
                    question = read_text(one.get("question"))
                    yield replace(target, plugin=plugin or target.plugin, question=question, line=line)
                case _:
                    self.add_problem(
                        ("next_flow", number), "It names no flow.", "Write a flow's name.", "warning"
                    )

    def read_number(self, value: dict[str, Any], key: str, default: float, most: float) -> float:
        try:
            number = parse_number(value.get(key), most)
        except ValueError as error:
            self.add_problem((key,), str(error), "Write a number.")
            return default
        return default if number is None else number

    def check_unknown_keys(self, value: dict[str, Any], known: Iterable[str], place: Place) -> None:
        known = tuple(known)
        for key in value:
            if key not in known:
                near = closest_match(str(key), known)
                fix = f"Did you mean {near!r}?" if near else "Delete it."
                self.add_problem((*place, key), "Nothing reads this.", fix, "warning")


def make_placeholder_step(value: Any, name: str) -> Step:
    """Return a stand-in for an unreadable step, so that its absence causes no further problems."""
    following = read_text(value.get("next")) if isinstance(value, dict) else ""
    return Step(name=name, kind=NONE, next=following or END)


def parse_flow_reference(name: str) -> NextFlow:
    plugin, slash, flow = name.partition("/")
    return NextFlow(flow=flow, plugin=plugin) if slash and plugin and flow else NextFlow(flow=name)


def with_digest(flow: Flow) -> Flow:
    """Return the flow with its digest, a hash of its behavior without lines and file name."""

    def strip_lines(step: Step) -> Step:
        return replace(step, line=0, on_error=strip_lines(step.on_error) if step.on_error else None)

    steps = {name: strip_lines(one) for name, one in flow.steps.items()}
    hashed = replace(
        flow,
        steps=steps,
        on_error=strip_lines(flow.on_error) if flow.on_error else None,
        next_flow=tuple(replace(one, line=0) for one in flow.next_flow),
        file="",
        digest="",
    )
    return replace(flow, digest=hashlib.sha256(msgspec.json.encode(hashed)).hexdigest()[:16])


def read_flow_file(folder: Path, name: str, plugin: str) -> tuple[Flow | None, list[Problem]]:
    """Read a flow from a file of the plugin's folder."""
    try:
        flow_document = document.read_document(folder, name)
    except document.UnreadableFile as error:
        return None, [error.problem]
    reader = FlowFileReader(plugin, flow_document)
    return reader.read_flow(), reader.problems


def make_operation_flows(
    plugin: str, operations: Iterable[Operation], taken: Iterable[str]
) -> Iterator[Flow]:
    """Yield a flow for each operation, named by its id ("GET /hosts")."""
    used = set(taken)
    for operation in operations:
        if operation.id in used:
            continue
        used.add(operation.id)
        yield with_digest(
            Flow(
                plugin=plugin,
                name=operation.id,
                description=operation.description,
                steps={
                    START: Step(name=START, kind="api", params={"endpoint": operation.id}, next=END),
                    END: END_STEP,
                },
            )
        )
