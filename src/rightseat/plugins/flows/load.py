"""Flows of a plugin: read from flows/*.yaml or made of operations, and checked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.plugins.flows.dialect import translate_params
from rightseat.plugins.flows.step_context import FlowReferences, check_keys, format_hint, make_step_problem
from rightseat.plugins.flows.steps import NONE, get_kind, list_kinds
from rightseat.plugins.flows.templates import check_templates
from rightseat.plugins.plugin import (
    END,
    START,
    Flow,
    Gravity,
    KeyPath,
    NextFlow,
    Operation,
    PluginScript,
    Problem,
    Step,
)
from rightseat.plugins.plugin_file import PluginDocument, UnreadableFile, read_document

MAX_NAME_LENGTH = 200
MAX_RETRIES = 10
MAX_TIMEOUT = 86400.0

STEP_KEYS = (
    "name",
    "call_type",
    "params",
    "next",
    "on_error",
    "retry",
    "timeout",
    "confirm",
    "dangerous",
    "repeatable",
    "description",
)
NEXT_FLOW_KEYS = ("flow", "flow_id", "id", "name", "plugin", "plugin_id", "question")
FLOW_KEYS = ("name", "id", "description", "on_error", "steps", "next_flow", "max_steps", "timeout")
MAX_FILE_STEPS = 200
MAX_STEPS_LIMIT = 10_000
END_STEP = Step(name=END, kind=NONE)


def parse_step(value: Any, name: str) -> Step:
    """Return the step; ValueError says why it is not one."""
    if not isinstance(value, Mapping):
        raise ValueError("This is not a step. A step has `call_type:` and usually `params:`.")
    kind = read_text(value.get("call_type"))
    if not kind:
        raise ValueError("It has no call_type.")
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"Its name is longer than {MAX_NAME_LENGTH} characters.")
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise ValueError("Its params are not a mapping of names to values.")
    return Step(
        name=name,
        kind=kind,
        params=translate_params(kind, params or {}),
        next=read_text(value.get("next")) or None,
        on_error=parse_error_handler(value.get("on_error"), f"{name}.on_error"),
        retry=None if (retry := parse_limit(value, "retry", MAX_RETRIES)) is None else int(retry),
        timeout=parse_limit(value, "timeout", MAX_TIMEOUT) or None,
        confirm=value.get("confirm") is True or value.get("dangerous") is True,
        repeatable=value["repeatable"] if isinstance(value.get("repeatable"), bool) else None,
    )


def parse_error_handler(value: Any, name: str) -> Step | None:
    handler = parse_step(value, name) if value else None
    if handler is not None and handler.on_error is not None:
        raise ValueError("Its on_error must not have an on_error itself: a failing on_error ends the flow.")
    return handler


def parse_nested_steps(value: Any, name: str, parent: Flow, default_name: str = "") -> Flow:
    """Parse a nested step, or a list run in order, as a flow. `default_name` is for a single step without
    a name."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError("It has no steps.")
    # A step named `end` does not run.
    unnamed = "" if isinstance(value, list) or default_name == END else default_name
    names: list[str] = []
    for number, step_value in enumerate(values, 1):
        step_name = read_text(isinstance(step_value, Mapping) and step_value.get("name")) or unnamed or str(number)
        if step_name in names:
            raise ValueError(f"There are two steps called {step_name!r}.")
        names.append(step_name)
    steps: dict[str, Step] = {}
    for step_name, step_value, following in zip(names, values, [*names[1:], None], strict=True):
        step = parse_step(step_value, step_name)
        steps[step_name] = step if step.next else replace(step, next=following)
    return replace(parent, name=f"{parent.name}/{name}", steps=steps, on_error=None, next_flow=())


def check_nested_keys(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (key, fix) for each unknown key of nested steps and of their on_error."""
    for step_value in value if isinstance(value, list) else [value]:
        for inner in (step_value, step_value.get("on_error") if isinstance(step_value, Mapping) else None):
            if isinstance(inner, Mapping):
                yield from check_keys(inner, STEP_KEYS)


def read_text(value: Any) -> str:
    """Return a name or sentence as text; YAML may have read it as a number. Booleans become empty."""
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def parse_limit(value: Mapping[str, Any], key: str, most: float) -> float | None:
    try:
        return parse_number(value.get(key), most)
    except ValueError as error:
        raise ValueError(f"Its {key}: {error}") from None


def parse_number(value: Any, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is not a number.")
    if not 0 <= value <= most:
        raise ValueError(f"{value} is not between 0 and {most:g}.")
    return float(value)


class FlowFileReader:
    """Reads one flow file and collects its problems."""

    def __init__(self, plugin: str, document: PluginDocument) -> None:
        self.plugin = plugin
        self.document = document
        self.problems: list[Problem] = list(document.problems)

    def add_problem(self, path: KeyPath, what: str, fix: str, gravity: Gravity = "error") -> None:
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
            what, fix = "It says nothing about what the flow does.", "Write one: a model chooses flows by it."
            self.add_problem(("description",), what, fix, "warning")
        flow = Flow(
            plugin=self.plugin,
            name=self.read_name(value),
            description=description,
            steps=steps,
            on_error=self.read_step(value["on_error"], ("on_error",), "on_error") if value.get("on_error") else None,
            next_flow=tuple(self.read_next_flows(value.get("next_flow"))),
            max_steps=int(self.read_number(value, "max_steps", 100, MAX_STEPS_LIMIT)),
            timeout=self.read_number(value, "timeout", 600.0, MAX_TIMEOUT),
            file=self.document.name,
        )
        return with_digest(flow)

    def read_name(self, value: dict[str, Any]) -> str:
        name = read_text(value.get("id")) or read_text(value.get("name"))
        if not name:
            name = Path(self.document.name).stem
            self.add_problem(("name",), f"It has none, and is called {name!r}.", "Write one.", "warning")
        if len(name) > MAX_NAME_LENGTH:
            self.add_problem(("name",), f"It is longer than {MAX_NAME_LENGTH} characters.", "Write a shorter one.")
        return name

    def read_steps(self, steps_value: Any) -> dict[str, Step]:
        """Read steps given as a list with names, or as a mapping by name (later versions)."""
        items = steps_value if isinstance(steps_value, list) else ()
        listed: Iterable[tuple[str | int, Any]]
        listed = steps_value.items() if isinstance(steps_value, dict) else enumerate(items)
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
            self.add_problem(("steps",), f"There are more than {MAX_FILE_STEPS}.", "Make several flows of it.")
        if END not in steps and any(step.next == END for step in steps.values()):
            steps[END] = END_STEP
        return steps

    def read_step(self, value: Any, place: KeyPath, name: str) -> Step | None:
        try:
            step = parse_step(value, name)
        except ValueError as error:
            self.add_problem(place, str(error), "See the chapter on steps in docs/flows.md.")
            return None
        self.check_unknown_keys(value, STEP_KEYS, place)
        handler = step.on_error
        if handler is not None:
            inner = (*place, "on_error")
            self.check_unknown_keys(value["on_error"], STEP_KEYS, inner)
            handler = replace(handler, line=self.document.line_index.find_line(inner))
        return replace(step, line=self.document.line_index.find_line(place), on_error=handler)

    def read_next_flows(self, value: Any) -> Iterator[NextFlow]:
        """Read follow-up flows: names, or objects with a question."""
        for number, entry in enumerate(value if isinstance(value, list) else [value] if value else []):
            place = ("next_flow", number) if isinstance(value, list) else ("next_flow",)
            line = self.document.line_index.find_line(place)
            match entry:
                case str(name) if name.strip():
                    yield replace(parse_flow_reference(name.strip()), line=line)
                case {"flow": str(name)} | {"flow_id": str(name)} | {"id": str(name)} | {"name": str(name)}:
                    plugin = read_text(entry.get("plugin") or entry.get("plugin_id"))
                    target = parse_flow_reference(name.strip())
                    question = read_text(entry.get("question"))
                    self.check_unknown_keys(entry, NEXT_FLOW_KEYS, place)
                    yield replace(target, plugin=plugin or target.plugin, question=question, line=line)
                case _:
                    self.add_problem(("next_flow", number), "It names no flow.", "Write a flow's name.", "warning")

    def read_number(self, value: dict[str, Any], key: str, default: float, most: float) -> float:
        try:
            number = parse_number(value.get(key), most)
        except ValueError as error:
            self.add_problem((key,), str(error), "Write a number.")
            return default
        return default if number is None else number

    def check_unknown_keys(self, value: Mapping[str, Any], known: Sequence[str], place: KeyPath) -> None:
        for key, fix in check_keys(value, known):
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
        # Without `retry` a step had 0 in earlier versions: what they left waiting goes on.
        return replace(
            step, line=0, retry=step.retry or 0, on_error=strip_lines(step.on_error) if step.on_error else None
        )

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
        document = read_document(folder, name)
    except UnreadableFile as error:
        return None, [error.problem]
    reader = FlowFileReader(plugin, document)
    return reader.read_flow(), reader.problems


def make_operation_flow(plugin: str, operation: Operation) -> Flow:
    """Return a flow of one step, named by the operation's id ("GET /hosts")."""
    start = Step(name=START, kind="api", params={"endpoint": operation.id}, next=END)
    steps = {START: start, END: END_STEP}
    return with_digest(Flow(plugin=plugin, name=operation.id, description=operation.description, steps=steps))


def check_flow(flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    """Yield all problems of a flow. A flow with an error among them cannot run."""
    if START not in flow.steps:
        names = ", ".join(flow.steps)
        fix = f"Call the first step {START!r}; there are: {names}."
        line = next((one.line for one in flow.steps.values()), 0)
        yield Problem(flow.file, "steps", "No step is called 'start', where every flow begins.", fix, line)
    yield from check_steps(flow, known)
    yield from check_transitions(flow, START)
    for one in flow.next_flow:
        if not one.plugin and one.flow not in known.flows:
            what = f"There is no flow {one.flow!r} in this plugin; nothing is suggested for it."
            yield Problem(flow.file, "next_flow", what, format_hint(one.flow, known.flows), one.line, "warning")


def check_steps(flow: Flow, known: FlowReferences, scope: Flow | None = None) -> Iterator[Problem]:
    """Check each step and on_error handler. `scope` holds all steps that they may name."""
    for step in (*flow.steps.values(), *iter_error_handlers(flow)):
        kinds = (*list_kinds(), *known.scripts)
        yield from check_templates(scope or flow, step)
        if step.kind in kinds:
            yield from get_kind(step.kind).check(step, scope or flow, known)
        else:
            fix = format_hint(step.kind, kinds)
            what = f"There is no call_type {step.kind!r}, and no tool of that name in lib/."
            yield make_step_problem(flow, step, "call_type", what, fix)


def iter_error_handlers(flow: Flow) -> Iterator[Step]:
    steps_or_none = [flow.on_error, *(step.on_error for step in flow.steps.values())]
    yield from (step for step in steps_or_none if step is not None)


def check_transitions(flow: Flow, first: str) -> Iterator[Problem]:
    """Check that targets exist, every step is reachable from the first, and every step can reach an end."""
    dangling = False
    for step in (*flow.steps.values(), *iter_error_handlers(flow)):
        for name in get_targets(step):
            if name not in flow.steps and name != END:
                dangling = True
                what = f"It goes on with {name!r}, and there is no such step."
                yield make_step_problem(flow, step, "next", what, format_hint(name, {*flow.steps, END}))
    if dangling or first not in flow.steps:
        return
    reached = find_reachable_steps(flow, first)
    for name, step in flow.steps.items():
        if name not in reached and name != END:
            fix = "Let a step go on with it, or delete it."
            yield make_step_problem(flow, step, "", "Nothing leads to this step.", fix, "warning")
    ending = find_terminating_steps(flow)
    stuck = [name for name in flow.steps if name in reached and name not in ending]
    if stuck:
        step = flow.steps[stuck[0]]
        what = f"These steps go round for ever: {', '.join(stuck)}."
        yield make_step_problem(flow, step, "next", what, "Let one of them lead to `end`, or have no `next`.")


def get_targets(step: Step) -> tuple[str, ...]:
    """Return the names of the steps that may come next."""
    jumps = tuple(get_kind(step.kind).jumps(step))
    return (*jumps, step.next) if step.next else jumps


def find_reachable_steps(flow: Flow, first: str) -> set[str]:
    reached: set[str] = set()
    pending = [first, *(name for one in iter_error_handlers(flow) for name in get_targets(one))]
    while pending:
        name = pending.pop()
        if name not in reached and name in flow.steps:
            reached.add(name)
            pending += get_targets(flow.steps[name])
    return reached


def find_terminating_steps(flow: Flow) -> set[str]:
    """Return the steps from which an end can be reached."""
    targets_by_step = {name: get_targets(step) for name, step in flow.steps.items()}
    terminating = {name for name, after in targets_by_step.items() if not after or name == END or END in after}
    while True:
        more = {
            name
            for name, after in targets_by_step.items()
            if name not in terminating and not terminating.isdisjoint(after)
        }
        if not more:
            return terminating
        terminating |= more


def load_flows(
    folder: Path,
    plugin: str,
    files: Iterable[Path],
    operations: tuple[Operation, ...],
    scripts: tuple[PluginScript, ...],
    *,
    per_operation: bool,
) -> tuple[tuple[Flow, ...], list[Problem]]:
    """Return the flows that can run, and all problems. `per_operation`: make a flow of each operation too."""
    flows: dict[str, Flow] = {}
    problems: list[Problem] = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        flow, file_problems = read_flow_file(folder, name, plugin)
        problems += file_problems
        if flow is None:
            continue
        if flow.name in flows:
            what = f"There is a flow {flow.name!r} already, in {flows[flow.name].file}; this one is left out."
            problems.append(Problem(name, "name", what, "Rename one of the two.", 1))
            continue
        flows[flow.name] = flow
    operation_flows = {
        operation.id: make_operation_flow(plugin, operation)
        for operation in operations
        if per_operation and operation.id not in flows
    }
    references = FlowReferences(
        endpoints=[operation.id for operation in operations],
        scripts=[script.name for script in scripts],
        flows=[*flows, *operation_flows],
    )
    for flow in flows.values():
        problems += check_flow(flow, references)
    broken = {problem.file for problem in problems if problem.gravity == "error"}
    runnable = (flow for flow in flows.values() if flow.file not in broken)
    return (*runnable, *operation_flows.values()), problems
