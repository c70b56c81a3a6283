"""Read flows/*.yaml into Flow values. Problems of a file are reported and affect that flow alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.plugins import document
from rightseat.plugins.document import Document
from rightseat.plugins.flows.flow import END, START, Flow, Next, Step
from rightseat.plugins.flows.written import LONGEST_NAME, amount, step, text
from rightseat.plugins.operation import Operation
from rightseat.plugins.place import Path as Place
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import nearest

KEYS = (
    "name",
    "id",
    "description",
    "on_error",
    "steps",
    "next_flow",
    "max_steps",
    "timeout",
)
MOST_STEPS = 200
MAX_STEPS = 10_000
NONE = "none"
ENDING = Step(name=END, kind=NONE)


class File:
    """Reads one flow file and collects its problems."""

    def __init__(self, plugin: str, source: Document) -> None:
        self.plugin = plugin
        self.source = source
        self.problems: list[Problem] = list(source.problems)

    def note(self, path: Place, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.source.problem(path, what, fix, gravity))

    def flow(self) -> Flow | None:
        value = self.source.value
        if not isinstance(value, dict):
            self.note((), "It is no flow.", "Write `name:`, `description:` and `steps:`.")
            return None
        self.strange(value, KEYS, ())
        steps = self.steps(value.get("steps"))
        if not steps:
            return None
        description = text(value.get("description"))
        if not description:
            self.note(
                ("description",),
                "It says nothing about what the flow does.",
                "Write one: a model chooses flows by it.",
                "warning",
            )
        made = Flow(
            plugin=self.plugin,
            name=self.name(value),
            description=description,
            steps=steps,
            on_error=self.step(value["on_error"], ("on_error",), "on_error")
            if value.get("on_error")
            else None,
            next_flow=tuple(self.next_flows(value.get("next_flow"))),
            max_steps=int(self.number(value, "max_steps", 100, MAX_STEPS)),
            timeout=self.number(value, "timeout", 600.0, 86400.0),
            file=self.source.name,
        )
        return sealed(made)

    def name(self, value: dict[str, Any]) -> str:
        given = text(value.get("id")) or text(value.get("name"))
        if not given:
            given = Path(self.source.name).stem
            self.note(("name",), f"It has none, and is called {given!r}.", "Write one.", "warning")
        if len(given) > LONGEST_NAME:
            self.note(("name",), f"It is longer than {LONGEST_NAME} characters.", "Write a shorter one.")
        return given

    def steps(self, given: Any) -> dict[str, Step]:
        """Read steps given as a list with names, or as a mapping by name (later versions)."""
        listed: Iterable[tuple[str | int, Any]]
        if isinstance(given, dict):
            listed = given.items()
        else:
            listed = enumerate(given if isinstance(given, list) else ())
        made: dict[str, Step] = {}
        for key, value in listed:
            place = ("steps", key)
            name = key if isinstance(key, str) else text(isinstance(value, dict) and value.get("name"))
            if not name:
                self.note(place, "The step has no name.", "Write `name:`.")
            elif name in made:
                self.note(place, f"There are two steps called {name!r}.", "Rename one of them.")
            else:
                made[name] = self.step(value, place, name) or stand_in(value, name)
        if not made:
            self.note(("steps",), "It has no steps.", f"Write at least one, called {START}.")
        if len(made) > MOST_STEPS:
            self.note(("steps",), f"There are more than {MOST_STEPS}.", "Make several flows of it.")
        if END not in made and any(one.next == END for one in made.values()):
            made[END] = ENDING
        return made

    def step(self, value: Any, place: Place, name: str) -> Step | None:
        try:
            made, remarks = step(value, name)
        except ValueError as error:
            self.note(place, str(error), "See the chapter on steps in docs/flows.md.")
            return None
        for key, what, fix, gravity in remarks:
            self.note((*place, *key), what, fix, gravity)
        lined = replace(made, line=self.source.lines.of(place))
        if made.on_error is not None:
            inner = replace(made.on_error, line=self.source.lines.of((*place, "on_error")))
            lined = replace(lined, on_error=inner)
        return lined

    def next_flows(self, given: Any) -> Iterator[Next]:
        """Read follow-up flows: names, or objects with a question."""
        for number, one in enumerate(given if isinstance(given, list) else [given] if given else []):
            line = self.source.lines.of(("next_flow", number) if isinstance(given, list) else ("next_flow",))
            match one:
                case str(name) if name.strip():
                    yield replace(reference(name.strip()), line=line)
                case {"flow": str(name)} | {"flow_id": str(name)} | {"id": str(name)} | {"name": str(name)}:
                    plugin = text(one.get("plugin") or one.get("plugin_id"))
                    found = reference(name.strip())
                    question = text(one.get("question"))
                    yield replace(found, plugin=plugin or found.plugin, question=question, line=line)
                case _:
                    self.note(("next_flow", number), "It names no flow.", "Write a flow's name.", "warning")

    def number(self, value: dict[str, Any], key: str, default: float, most: float) -> float:
        try:
            found = amount(value.get(key), most)
        except ValueError as error:
            self.note((key,), str(error), "Write a number.")
            return default
        return default if found is None else found

    def strange(self, value: dict[str, Any], known: Iterable[str], place: Place) -> None:
        known = tuple(known)
        for key in value:
            if key not in known:
                near = nearest(str(key), known)
                fix = f"Did you mean {near!r}?" if near else "Delete it."
                self.note((*place, key), "Nothing reads this.", fix, "warning")


def stand_in(value: Any, name: str) -> Step:
    """Return a stand-in for an unreadable step, so that its absence causes no further problems."""
    following = text(value.get("next")) if isinstance(value, dict) else ""
    return Step(name=name, kind=NONE, next=following or END)


def reference(name: str) -> Next:
    plugin, slash, flow = name.partition("/")
    return Next(flow=flow, plugin=plugin) if slash and plugin and flow else Next(flow=name)


def sealed(flow: Flow) -> Flow:
    """Return the flow with its digest, a hash of its behavior without lines and file name."""

    def bare(step: Step) -> Step:
        return replace(step, line=0, on_error=bare(step.on_error) if step.on_error else None)

    steps = {name: bare(one) for name, one in flow.steps.items()}
    kept = replace(
        flow,
        steps=steps,
        on_error=bare(flow.on_error) if flow.on_error else None,
        next_flow=tuple(replace(one, line=0) for one in flow.next_flow),
        file="",
        digest="",
    )
    return replace(flow, digest=hashlib.sha256(msgspec.json.encode(kept)).hexdigest()[:16])


def read(folder: Path, name: str, plugin: str) -> tuple[Flow | None, list[Problem]]:
    """Read a flow from a file of the plugin's folder."""
    try:
        source = document.read(folder, name)
    except document.Unreadable as error:
        return None, [error.problem]
    file = File(plugin, source)
    return file.flow(), file.problems


def automatic(plugin: str, operations: Iterable[Operation], taken: Iterable[str]) -> Iterator[Flow]:
    """Yield a flow for each operation, named by its id ("GET /hosts")."""
    used = set(taken)
    for operation in operations:
        if operation.id in used:
            continue
        used.add(operation.id)
        yield sealed(
            Flow(
                plugin=plugin,
                name=operation.id,
                description=operation.description,
                steps={
                    START: Step(name=START, kind="api", params={"endpoint": operation.id}, next=END),
                    END: ENDING,
                },
            )
        )
