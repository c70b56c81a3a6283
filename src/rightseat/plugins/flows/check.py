"""Static checks of a flow: referenced names, transitions between steps, and each step's params."""

from __future__ import annotations

from collections.abc import Iterator

from rightseat.plugins.flows import steps
from rightseat.plugins.flows.flow import END, START, Flow, Step
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.steps import kind
from rightseat.plugins.problem import Problem


def check(flow: Flow, known: Known) -> Iterator[Problem]:
    """Yield all problems of a flow. A flow with an error among them cannot run."""
    if START not in flow.steps:
        names = ", ".join(flow.steps)
        fix = f"Call the first step {START!r}; there are: {names}."
        line = next((one.line for one in flow.steps.values()), 0)
        yield Problem(flow.file, "steps", "No step is called 'start', where every flow begins.", fix, line)
    yield from of_steps(flow, known)
    yield from ways(flow, START)
    for one in flow.next_flow:
        if not one.plugin and one.flow not in known.flows:
            what = f"There is no flow {one.flow!r} in this plugin; nothing is suggested for it."
            yield Problem(flow.file, "next_flow", what, hint(one.flow, known.flows), one.line, "warning")


def of_steps(flow: Flow, known: Known, around: Flow | None = None) -> Iterator[Problem]:
    """Check each step and on_error handler. `scope` holds all steps that they may name."""
    for step in (*flow.steps.values(), *handlers(flow)):
        if steps.known(step.kind) or step.kind in known.scripts:
            yield from kind(step.kind).check(step, around or flow, known)
        else:
            fix = hint(step.kind, (*steps.names(), *known.scripts))
            what = f"There is no call_type {step.kind!r}, and no tool of that name in lib/."
            yield problem(flow, step, "call_type", what, fix)


def handlers(flow: Flow) -> Iterator[Step]:
    found = [flow.on_error, *(step.on_error for step in flow.steps.values())]
    yield from (step for step in found if step is not None)


def ways(flow: Flow, first: str) -> Iterator[Problem]:
    """Check that targets exist, every step is reachable from the first, and every step can reach an end."""
    dangling = False
    for step in (*flow.steps.values(), *handlers(flow)):
        for name in targets(step):
            if name not in flow.steps and name != END:
                dangling = True
                what = f"It goes on with {name!r}, and there is no such step."
                yield problem(flow, step, "next", what, hint(name, {*flow.steps, END}))
    if dangling or first not in flow.steps:
        return
    reached = reachable(flow, first)
    for name, step in flow.steps.items():
        if name not in reached and name != END:
            fix = "Let a step go on with it, or delete it."
            yield problem(flow, step, "", "Nothing leads to this step.", fix, "warning")
    ending = exits(flow)
    stuck = [name for name in flow.steps if name in reached and name not in ending]
    if stuck:
        step = flow.steps[stuck[0]]
        what = f"These steps go round for ever: {', '.join(stuck)}."
        yield problem(flow, step, "next", what, "Let one of them lead to `end`, or have no `next`.")


def targets(step: Step) -> tuple[str, ...]:
    """Return the names of the steps that may come next."""
    jumps = tuple(kind(step.kind).jumps(step)) if steps.known(step.kind) else ()
    return (*jumps, step.next) if step.next else jumps


def reachable(flow: Flow, first: str) -> set[str]:
    found: set[str] = set()
    open_ = [first, *(name for one in handlers(flow) for name in targets(one))]
    while open_:
        name = open_.pop()
        if name not in found and name in flow.steps:
            found.add(name)
            open_ += targets(flow.steps[name])
    return found


def exits(flow: Flow) -> set[str]:
    """Return the steps from which an end can be reached."""
    ways = {name: targets(step) for name, step in flow.steps.items()}
    found = {name for name, after in ways.items() if not after or name == END or END in after}
    while True:
        more = {name for name, after in ways.items() if name not in found and not found.isdisjoint(after)}
        if not more:
            return found
        found |= more
