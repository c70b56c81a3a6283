"""Estimates of a flow: how often it asks the model, and about how long that takes.

`usual` counts the way with the most model calls where nothing fails. `most` adds every correction of a malformed
answer, every retry and every on_error, and steps that repeat until `max_steps`. Loops count with all their rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any

from msgspec import Struct

from rightseat.plugins.flows.checkpoint import resolve_next_step
from rightseat.plugins.flows.load import get_targets, parse_nested_steps
from rightseat.plugins.flows.model_times import ModelTimes
from rightseat.plugins.flows.steps import KINDS, LLM, entry_point_kinds
from rightseat.plugins.flows.steps.calls import build_missing_schema, normalize_endpoint
from rightseat.plugins.flows.steps.choice import get_options
from rightseat.plugins.flows.steps.data import CHART_PARAMS
from rightseat.plugins.flows.steps.nested import DEFAULT_AT_ONCE, DEFAULT_ROUNDS, MAX_FLOW_DEPTH
from rightseat.plugins.plugin import START, Flow, Operation, Plugin, Step
from rightseat.types.text import pluralize
from rightseat.types.tools import Tool

DEFAULT_SECONDS = 3.0
"""Seconds of one model call where none was measured: the advice of the original's guide."""


class ModelCalls(Struct, frozen=True):
    """Numbers of model calls. `serial` are those of `usual` that wait for each other."""

    usual: int = 0
    most: int = 0
    serial: int = 0

    def __add__(self, other: ModelCalls) -> ModelCalls:
        return ModelCalls(self.usual + other.usual, self.most + other.most, self.serial + other.serial)

    def __mul__(self, number: int) -> ModelCalls:
        return ModelCalls(self.usual * number, self.most * number, self.serial * number)


NO_CALLS = ModelCalls()
ONE_CALL = ModelCalls(1, 1, 1)
STRUCTURED_CALL = ModelCalls(1, 2, 1)
"""An answer that must fit a schema is asked for once more where it does not."""
SQL_CALL = ModelCalls(1, 4, 1)
"""A query that fails is written once more."""


class FlowEstimator:
    """Counts the model calls of flows. `plugins` are all that a flow may use, by id."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self.operations: dict[tuple[str, str], Operation] = {}
        self.flows: dict[str, Flow] = {}
        self.subflow_calls: dict[tuple[str, int], ModelCalls] = {}
        """Calls by flow id and depth: flows that run each other often are counted once."""
        for plugin in plugins:
            self.operations |= {(plugin.id, operation.id): operation for operation in plugin.operations}
            self.flows |= {flow.id: flow for flow in plugin.workflows}

    def count_calls(self, flow: Flow) -> ModelCalls:
        """Return the model calls of a run that answers the user, with the questions that it suggests afterwards."""
        calls = self.count_steps(flow, START, answer=ONE_CALL)
        is_written = any(not target.question for target in flow.next_flow)
        return calls + STRUCTURED_CALL if is_written else calls

    def count_steps(self, flow: Flow, first: str, answer: ModelCalls = NO_CALLS, depth: int = 0) -> ModelCalls:
        """Return the calls of the way with the most. `answer` is what the answer costs where no step says it."""
        costs = {name: self.count_step(step, flow, depth) for name, step in flow.steps.items()}
        graph = FlowGraph(flow, first)
        spoken = {name for name, step in flow.steps.items() if says_answer(step)}
        usual, serial, most = (
            graph.find_longest(
                {name: getattr(calls, metric) for name, calls in costs.items()},
                {name: 0 if name in spoken else getattr(answer, metric) for name in costs},
                with_repeats=metric == "most",
            )
            for metric in ("usual", "serial", "most")
        )
        on_error = 0 if flow.on_error is None else self.count_step(flow.on_error, flow, depth).most
        return ModelCalls(usual, most + on_error, serial)

    def count_step(self, step: Step, flow: Flow, depth: int) -> ModelCalls:
        calls = self.count_attempt(step, flow, depth)
        handler = 0 if step.on_error is None else self.count_step(step.on_error, flow, depth).most
        return ModelCalls(calls.usual, calls.most * ((step.retry or 0) + 1) + handler, calls.serial)

    def count_attempt(self, step: Step, flow: Flow, depth: int) -> ModelCalls:
        params = step.params
        match step.kind:
            case "llm":
                return ONE_CALL
            case "api":
                return STRUCTURED_CALL if self.needs_arguments(step, flow) else NO_CALLS
            case "choice":
                open_steps = {option["step"] for option in get_options(step) if option.get("when") is None}
                return STRUCTURED_CALL if len(open_steps) > 1 else NO_CALLS
            case "sql":
                return NO_CALLS if params.get("sql") else SQL_CALL
            case "render":
                chosen = params.get("choose") is False or any(name in params for name in CHART_PARAMS)
                return NO_CALLS if chosen else STRUCTURED_CALL
            case "ask":
                return STRUCTURED_CALL if isinstance(params.get("schema"), dict) else NO_CALLS
            case "flow" | "loop" | "parallel":
                return self.count_nested(step, flow, depth)
            case kind if kind not in KINDS and kind in entry_point_kinds():
                return ONE_CALL
            case _:
                return NO_CALLS

    def needs_arguments(self, step: Step, flow: Flow) -> bool:
        """Whether the model may have to give arguments of the operation."""
        operation = self.operations.get((flow.plugin, normalize_endpoint(step)))
        if operation is None:
            return True
        arguments = operation.arguments
        properties = arguments.get("properties") or {}
        parameters = {
            "properties": {name: schema for name, schema in properties.items() if name not in operation.secured},
            "required": [name for name in arguments.get("required") or () if name not in operation.secured],
        }
        values = step.params.get("values")
        known = values if isinstance(values, dict) else {}
        return build_missing_schema(Tool(operation.name, "", parameters), known, "values" in step.params) is not None

    def count_nested(self, step: Step, flow: Flow, depth: int) -> ModelCalls:
        params = step.params
        if step.kind == "flow":
            return self.count_subflow(step, flow, depth)
        if step.kind == "loop":
            over = params.get("over")
            rounds = len(over) if isinstance(over, list) else int(params.get("max", DEFAULT_ROUNDS))
            return self.count_inner_steps(params.get("steps"), step, flow, depth) * rounds
        branches = [
            self.count_inner_steps(branch, step, flow, depth) for branch in (params.get("branches") or {}).values()
        ]
        waves = ceil(len(branches) / int(params.get("at_once", DEFAULT_AT_ONCE)))
        serial = waves * max((branch.serial for branch in branches), default=0)
        return ModelCalls(sum(branch.usual for branch in branches), sum(branch.most for branch in branches), serial)

    def count_subflow(self, step: Step, flow: Flow, depth: int) -> ModelCalls:
        name = str(step.params.get("flow") or "")
        inner = self.flows.get(name) or self.flows.get(f"{flow.plugin}/{name}")
        if inner is None or depth >= MAX_FLOW_DEPTH:
            return NO_CALLS
        key = inner.id, depth
        if key not in self.subflow_calls:
            self.subflow_calls[key] = self.count_steps(inner, START, depth=depth + 1)
        return self.subflow_calls[key]

    def count_inner_steps(self, value: Any, step: Step, flow: Flow, depth: int) -> ModelCalls:
        inner = parse_nested_steps(value, step.name, flow)
        return self.count_steps(inner, next(iter(inner.steps)), depth=depth)


def says_answer(step: Step) -> bool:
    """Whether the step, as the last one, says the answer itself."""
    return step.kind == LLM or (step.kind == "none" and "say" in step.params) or "text" in step.params


class FlowGraph:
    """Steps of a flow and the ways between them."""

    def __init__(self, flow: Flow, first: str) -> None:
        self.flow = flow
        self.first = first
        self.targets = {name: self.list_targets(step) for name, step in flow.steps.items()}
        """The steps after each step where nothing fails; None for the end of the flow."""
        self.all_targets = {name: self.add_error_targets(step) for name, step in flow.steps.items()}
        self.forward = dict(self.iter_forward_targets())

    def list_targets(self, step: Step) -> tuple[str | None, ...]:
        names = get_targets(step) or (None,)
        return tuple(dict.fromkeys(resolve_next_step(self.flow, name) for name in names))

    def add_error_targets(self, step: Step) -> tuple[str | None, ...]:
        """Return the targets of the step with those of the on_error steps that may follow it."""
        handlers = [handler for handler in (step.on_error, self.flow.on_error) if handler is not None]
        after = (target for handler in handlers for target in self.list_targets(handler))
        return tuple(dict.fromkeys((*self.targets[step.name], *after)))

    def iter_forward_targets(self) -> Iterator[tuple[str, tuple[str | None, ...]]]:
        """Yield the targets of each step without those that lead back to a step on the way there."""
        finished: set[str] = set()
        path: list[tuple[str, Iterator[str | None], list[str | None]]] = []
        on_path: set[str] = set()

        def enter(name: str) -> None:
            on_path.add(name)
            path.append((name, iter(self.targets[name]), []))

        if self.first in self.targets:
            enter(self.first)
        while path:
            name, targets, kept = path[-1]
            for target in targets:
                if target is not None and target in on_path:
                    continue
                kept.append(target)
                if target is not None and target not in finished:
                    enter(target)
                    break
            else:
                path.pop()
                on_path.discard(name)
                finished.add(name)
                yield name, tuple(kept)

    def find_longest(self, costs: Mapping[str, int], answers: Mapping[str, int], *, with_repeats: bool) -> int:
        """Return the cost of the most expensive way. `answers` are what it costs to end after a step."""
        targets = self.all_targets if with_repeats else self.forward
        best: dict[str | None, int] = dict.fromkeys(targets, 0)
        for _ in range(self.flow.max_steps if with_repeats else len(targets)):
            longer: dict[str | None, int] = {
                name: costs[name]
                + max((answers[name] if target is None else best.get(target, 0) for target in after), default=0)
                for name, after in targets.items()
            }
            if longer == best:
                break
            best = longer
        return best.get(self.first, 0)


def describe_estimate(calls: ModelCalls, times: ModelTimes, flow: Flow) -> str:
    """Return one line: how many model calls, and about how long they take."""
    if calls.most == 0:
        return "no model calls"
    measured = times.get_measured(flow.id)
    each = measured.seconds / measured.calls if measured.calls else DEFAULT_SECONDS
    origin = f", measured in {pluralize(measured.calls, 'call')}" if measured.calls else ""
    more = f" ({calls.most} with corrections, retries and error steps)" if calls.most > calls.usual else ""
    number = f"at most {pluralize(calls.usual, 'model call')}{more}"
    return f"{number}; about {format_seconds(calls.serial * each)} ({format_seconds(each)} each{origin})"


def format_seconds(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"
