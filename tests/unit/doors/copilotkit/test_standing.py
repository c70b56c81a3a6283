"""However often a page goes back and on, what stands of its thread is what the page shows."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.doors.copilotkit.threads import build_messages
from rightseat.http.agui.visible_branch import BranchFilter, HiddenRange, visible_branch
from rightseat.types.events import (
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Interrupt,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.threads import ThreadEntry, extract_user_input, is_run_end
from rightseat.types.turn import Turn

# What is said in a run: t is a text, r are thoughts, c is a call with its result, q a question at the end.
RUNS = st.sampled_from(["t", "rt", "ct", "rtct", "tcct", "c", "tq", "", "crt"])
# Where the page goes back to, from its end on, whether it then says something new, edits, or asks again.
STEP = st.tuples(RUNS, st.integers(0, 6), st.sampled_from(["say", "edit", "again"]), st.booleans())


class PageModel:
    def __init__(self) -> None:
        self.shown: list[Message] = []
        self.log: list[ThreadEntry] = []
        self.ids = count(1)

    def run(self, kinds: str, failed: bool) -> None:
        said_ = extract_user_input(Turn(messages=tuple(self.shown)), new=not self.log)
        if said_.messages:
            self.log.append(said_)
        self.log.append(RunStarted("t", f"r{next(self.ids)}"))
        for kind in kinds:
            self.log += self.answer(kind, f"{kind}{next(self.ids)}")
        self.log.append(RunFailed("stopped", "x") if failed else RunFinished("stop"))

    def answer(self, kind: str, id: str) -> list[Event]:
        match kind:
            case "t":
                self.shown.append(text_message("assistant", id, id=id))
                return [TextStart(id), TextDelta(id, id[:1]), TextDelta(id, id[1:]), TextEnd(id)]
            case "r":
                return [ReasoningStart(id), ReasoningEnd(id)]
            case "q":
                return [Interrupt(id, "ask", "?", {})]
            case _:
                call = f"call-{id}"
                self.shown.append(Message("assistant", calls=(ToolCall(call, "f", ""),), id=id))
                self.shown.append(text_message("tool", id, call_id=call, id=f"result-{call}"))
                return [CallStart(call, "f", id), CallEnd(call), CallResult(call, id)]

    def rewind(self, far: int, how: str) -> None:
        """To a question: a page never goes on behind half of an answer."""
        asked = [n for n, message in enumerate(self.shown) if message.role == "user"]
        if how == "say" or not asked:
            self.shown.append(text_message("user", "new", id=f"u{next(self.ids)}"))
            return
        place = asked[max(len(asked) - 1 - far, 0)]
        before = self.shown[place]
        words = before.text if how == "again" else f"{before.text} edited"
        self.shown = [*self.shown[:place], text_message("user", words, id=before.id)]

    def list_shown(self) -> list[tuple[str, str]]:
        return [(message.id or "", message.text) for message in self.shown]


@pytest.mark.demand("copilotkit.after_reload_user_sees")
@given(st.lists(STEP, min_size=1, max_size=8))
def test_what_stands_is_what_the_page_shows(steps: list[tuple[str, int, str, bool]]) -> None:
    page = PageModel()
    for kinds, far, how, failed in steps:
        page.rewind(far, how)
        page.run(kinds, failed)
        left = visible_branch(list(enumerate(page.log, 1)))
        assert [(one["id"], one.get("content", "")) for one in build_messages(left)] == page.list_shown()
        # What is left is whole runs, one after the other.
        frame = [isinstance(entry, RunStarted) for entry in left if isinstance(entry, RunStarted) or is_run_end(entry)]
        assert frame == [True, False] * (len(frame) // 2)


def test_a_thread_that_was_never_cut_is_left_as_it_is() -> None:
    page = PageModel()
    for kinds in ("rtct", "t", "tq"):
        page.rewind(0, "say")
        page.run(kinds, False)
    assert visible_branch(list(enumerate(page.log, 1))) == page.log


def test_a_question_of_a_run_that_was_cut_off_is_asked_no_more() -> None:
    page = PageModel()
    page.rewind(0, "say")
    page.run("tq", False)
    page.rewind(0, "again")
    page.run("t", False)
    assert not [entry for entry in visible_branch(list(enumerate(page.log, 1))) if isinstance(entry, Interrupt)]


def test_an_agent_may_name_its_messages_alike_in_every_run() -> None:
    log: list[ThreadEntry] = []
    shown: list[Message] = []
    for number in range(3):
        shown.append(text_message("user", f"q{number}", id=f"u{number}"))
        log.append(extract_user_input(Turn(messages=tuple(shown)), new=not log))
        log.append(RunStarted("t", f"r{number}"))
        log += [TextStart("text"), TextDelta("text", f"a{number}"), TextEnd("text"), RunFinished("stop")]
        shown.append(text_message("assistant", f"a{number}", id="text"))
    assert visible_branch(list(enumerate(log, 1))) == log


def test_of_a_call_that_proved_invalid_the_result_alone_can_be_hidden() -> None:
    entries: list[ThreadEntry] = [
        RunStarted("t", "r"),
        CallStart("c", "show", "m", True),
        CallResult("c", "error", failed=True),
        RunFinished("stop"),
    ]
    branch = BranchFilter([HiddenRange((3, 0), 9)])
    shown = [entry for _, entry in branch.filter_entries(list(enumerate(entries, 1)))]
    assert shown == [*entries[:2], CallEnd("c"), RunFinished("stop")]
