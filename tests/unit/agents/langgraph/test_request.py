"""What a graph is asked: only what its thread does not have yet, and never more than a client may ask for."""

from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.agents.langgraph.messages import chained, fresh, recalled
from rightseat.agents.langgraph.questions import Open
from rightseat.agents.langgraph.request import Request, Schema, Standing, request, standing
from rightseat.errors import ContinuationGone
from rightseat.types.messages import Call, File, Image, Message, Text, said
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Answer, Context, Forwarded, Turn

U1, A1 = said("user", "one", id="u1"), said("assistant", "eins", id="a1")
U2, A2 = said("user", "two", id="u2"), said("assistant", "zwei", id="a2")
HELD = [chained(message) for message in (U1, A1, U2, A2)]
PAINT = ToolSpec("paint", "Paints.", {"type": "object"})


def ids(found: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(item["type"], item.get("id")) for item in found]


def test_a_new_thread_gets_all() -> None:
    assert ids(fresh([U1, A1, U2], [], ())) == [("human", "u1"), ("ai", "a1"), ("human", "u2")]


@pytest.mark.demand("agents.agent_state_loadagentstate_state")
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_pages_own_instructions_are_not_the_graphs(role: Any) -> None:
    """A client that has only text has no other way to say how it wants to be answered."""
    told = Turn(messages=(said(role, "You sit in a page."), U1))
    made = request(told, Standing(), Schema(), {}).input
    assert made is not None
    assert [item["content"] for item in made["messages"]] == ["one"]
    made = request(replace(told, shows_interrupts=False), Standing(), Schema(), {}).input
    assert made is not None
    assert [item["content"] for item in made["messages"]] == ["You sit in a page.", "one"]


def test_only_what_is_new() -> None:
    more = said("user", "three", id="u3")
    assert ids(fresh([U1, A1, U2, A2, more], HELD, ())) == [("human", "u3")]
    foreign = said("assistant", "sent by hand", id="h1")
    assert ids(fresh([U1, A1, U2, A2, foreign, more], HELD, ())) == [("human", "u3")]


def test_what_the_graph_keeps_for_itself_stays() -> None:
    inner = {"type": "ai", "id": "inner", "content": "hidden"}
    assert ids(fresh([U1, A1, said("user", "x", id="u9")], [*HELD[:2], inner], ())) == [("human", "u9")]


def test_an_edited_message_takes_back_what_came_after() -> None:
    edited = said("user", "zwo", id="u2b")
    found = ids(fresh([U1, A1, edited], HELD, ()))
    assert found == [("remove", "u2"), ("remove", "a2"), ("human", "u2b")]
    in_place = ids(fresh([U1, A1, said("user", "zwo", id="u2")], HELD, ()))
    assert in_place == [("remove", "u2"), ("remove", "a2"), ("human", "u2")]


def test_another_answer_is_wanted() -> None:
    assert ids(fresh([U1, A1, U2], HELD, ())) == [("remove", "a2")]


def test_without_ids_what_follows_the_last_answer_is_new() -> None:
    posted = [said("user", "one"), said("assistant", "eins"), said("user", "two")]
    assert [item["content"] for item in fresh(posted, HELD[:2], ())] == ["two"]


def test_results_go_to_calls_that_wait() -> None:
    calling = Message("assistant", calls=(Call("c1", "paint", "{}"), Call("c2", "add", "{}")), id="a3")
    held = [chained(U1), chained(calling), {"type": "tool", "tool_call_id": "c2", "content": "5", "id": "x"}]
    mine, theirs = said("tool", "", call_id="c1", id="r1"), said("tool", "9", call_id="c2", id="r2")
    stray = said("tool", "?", call_id="c9", id="r9")
    found = fresh([U1, calling, theirs, mine, stray], held, ["paint"])
    assert [item["tool_call_id"] for item in found] == ["c1"]
    assert fresh([U1, calling, mine], held, []) == [], (
        "an empty result of a call that nobody answered is none"
    )


def test_messages_as_langchain_has_them() -> None:
    calling = Message("assistant", (Text("So."),), (Call("c", "add", '{"a": 1}'),), id="a")
    assert chained(calling) == {
        "type": "ai",
        "content": "So.",
        "id": "a",
        "tool_calls": [{"type": "tool_call", "id": "c", "name": "add", "args": {"a": 1}}],
    }
    seen = Message("user", (Text("See"), Image("data:x", "low"), File("f.pdf", data="AA==")))
    assert chained(seen)["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
        {"type": "file", "file": {"filename": "f.pdf", "file_data": "AA=="}},
    ]
    values = {"messages": [*HELD[:2], chained(calling), chained(said("tool", "2", call_id="c", id="r")), 7]}
    assert list(recalled(values)) == [
        U1,
        A1,
        Message("assistant", (Text("So."),), (Call("c", "add", '{"a":1}'),), id="a"),
        said("tool", "2", call_id="c", id="r"),
    ]


@pytest.mark.demand("agents.agent_state_loadagentstate_state")
def test_state_tools_and_context_go_where_graphs_look_for_them() -> None:
    turn = Turn(
        messages=(U1,), tools=(PAINT,), state={"x": 1, "tools": "no"}, context=(Context("page", "list"),)
    )
    tools = [{"name": "paint", "description": "Paints.", "parameters": {"type": "object"}}]
    context = [{"description": "page", "value": "list"}]
    asked = request(turn, Standing(), Schema(), {})
    assert asked.input == {
        "x": 1,
        "messages": [chained(U1)],
        "tools": tools,
        "copilotkit": {"actions": tools, "context": context},
    }
    known = Schema(inputs=frozenset(("messages",)))
    assert (request(turn, Standing(), known, {}).input or {}).keys() == {"messages"}


def test_a_client_sets_up_only_what_the_graph_declares() -> None:
    theirs = {"tone": "kind", "user_id": "root", "thread_id": "x", "model": "big", "undeclared": 1}
    turn = Turn(
        messages=(U1,), forwarded=Forwarded(config={"configurable": theirs, "recursion_limit": 10_000})
    )
    schema = Schema(settings=frozenset(("tone", "user_id", "thread_id", "model")))
    asked = request(turn, Standing(), schema, {"configurable": {"model": "small"}, "recursion_limit": 5})
    assert asked.config == {"configurable": {"tone": "kind", "model": "small"}, "recursion_limit": 5}
    assert request(turn, Standing(), Schema(), {}).config == {}


WAITING = Standing({"messages": HELD}, ("review",), (Open("i1", "Sure?"), Open("i2", "Really?")))
ONE = Standing({"messages": HELD}, ("review",), (Open("i1", "Sure?"),))


def answered(at: Standing, *answers: Answer) -> Request:
    return request(Turn(messages=(U1,), answers=answers), at, Schema(), {})


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_answers() -> None:
    thread = "0" * 32
    assert answered(ONE, Answer(f"lg-{thread}-i1", payload={"ok": 1})).resume == {"ok": 1}
    assert answered(ONE, Answer(f"lg-{thread}-i1", text='{"ok": 1}')).resume == {"ok": 1}
    assert answered(ONE, Answer(f"lg-{thread}-i1", text="42")).resume == "42", "a number may be a name"
    assert answered(ONE, Answer("", text="yes")).resume == "yes", "the one that waits"
    assert answered(ONE, Answer(f"lg-{thread}-i1", "cancelled")).resume == {"cancelled": True}
    assert answered(WAITING, Answer(f"lg-{thread}-i2", text="no")).resume == {"i2": "no"}
    helped = Standing(None, ("n",), (Open("i1", {"__copilotkit_interrupt_value__": "Who?"}),))
    assert answered(helped, Answer("", text="Ada")).resume == [{"type": "human", "content": "Ada"}]


@pytest.mark.parametrize("id", ["i1", "lg-x-i1", f"lg-{'0' * 32}-i9", "ask_1"])
def test_an_answer_to_nothing(id: str) -> None:
    with pytest.raises(ContinuationGone):
        answered(ONE, Answer(id, text="yes"))
    with pytest.raises(ContinuationGone):
        answered(Standing(), Answer(f"lg-{'0' * 32}-i1", text="yes"))


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_what_is_said_is_the_answer_to_an_open_question() -> None:
    turn = Turn(messages=(U1, A1, U2, A2, said("user", "yes", id="u3")))
    assert request(turn, ONE, Schema(), {}).resume == [{"type": "human", "content": "yes", "id": "u3"}]
    edited = Turn(messages=(U1, A1, said("user", "zwo", id="u2b")))
    assert request(edited, ONE, Schema(), {}).input is not None, "said anew, it is no answer"


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_going_on_from_a_node() -> None:
    stopped = standing({"values": {"messages": HELD}, "next": ["note"], "tasks": [{"interrupts": []}]})
    assert stopped.waiting == (Open("at-note"),)
    told = Turn(messages=(U1, A1, U2, A2), state={"x": 1}, forwarded=Forwarded(node="desk"))
    asked = request(told, stopped, Schema(), {})
    assert (asked.node, asked.input, (asked.update or {})["x"]) == ("desk", None, 1)
    by_agui = Turn(messages=(U1,), forwarded=Forwarded({"nodeName": "desk"}))
    assert request(by_agui, stopped, Schema(), {}).node == "desk"
    assert request(told, Standing(), Schema(), {}).node == "", "where nothing waits, it begins anew"
    ended = Turn(messages=(U1,), forwarded=Forwarded(node="__end__"))
    assert request(ended, stopped, Schema(), {}).input is not None


def test_a_breakpoint_is_a_question() -> None:
    stopped = standing({"values": {}, "next": ["note"]})
    yes = answered(stopped, Answer("", payload={"approved": True}))
    assert (yes.input, yes.resume, yes.declined) == (None, None, False)
    assert answered(stopped, Answer("", payload={"approved": False})).declined
