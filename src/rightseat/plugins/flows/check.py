"""Static checks of a flow: referenced names, transitions between steps, and each step's params."""

from __future__ import annotations

from collections.abc import Iterator

from rightseat.plugins.flows import steps
from rightseat.plugins.flows.flow import END, START, Flow, Step
from rightseat.plugins.flows.known import FlowReferences, format_hint, make_step_problem
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.problem import Problem


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
            yield Problem(
                flow.file, "next_flow", what, format_hint(one.flow, known.flows), one.line, "warning"
            )


def check_steps(flow: Flow, known: FlowReferences, scope: Flow | None = None) -> Iterator[Problem]:
    """Check each step and on_error handler. `scope` holds all steps that they may name."""
    for step in (*flow.steps.values(), *iter_error_handlers(flow)):
        if steps.is_known_kind(step.kind) or step.kind in known.scripts:
            yield from get_kind(step.kind).check(step, scope or flow, known)
        else:
            fix = format_hint(step.kind, (*steps.list_kinds(), *known.scripts))
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
    jumps = tuple(get_kind(step.kind).jumps(step)) if steps.is_known_kind(step.kind) else ()
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
    terminating = {
        name for name, after in targets_by_step.items() if not after or name == END or END in after
    }
    while True:
        more = {
            name
            for name, after in targets_by_step.items()
            if name not in terminating and not terminating.isdisjoint(after)
        }
        if not more:
            return terminating
        terminating |= more
