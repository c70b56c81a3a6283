"""What a graph is asked: only what its thread does not have yet, and never more than a client may ask for."""

from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.agents.langgraph.interrupts import GraphInterrupt
from rightseat.agents.langgraph.request import (
    GraphRunRequest,
    GraphSchema,
    GraphThreadState,
    build_run_request,
    diff_messages,
    messages_from_state,
    parse_thread_state,
    to_langchain_message,
)
from rightseat.errors import ContinuationGone
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart, ToolCall, text_message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import AppContext, ForwardedProps, InterruptAnswer, Turn, TurnClient

U1, A1 = text_message("user", "one", id="u1"), text_message("assistant", "eins", id="a1")
U2, A2 = text_message("user", "two", id="u2"), text_message("assistant", "zwei", id="a2")
THREAD_MESSAGES = [to_langchain_message(message) for message in (U1, A1, U2, A2)]
PAINT = ToolSpec("paint", "Paints.", {"type": "object"})


def list_types_and_ids(found: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(item["type"], item.get("id")) for item in found]


def test_a_new_thread_gets_all() -> None:
    assert list_types_and_ids(diff_messages([U1, A1, U2], [], ())) == [("human", "u1"), ("ai", "a1"), ("human", "u2")]


@pytest.mark.demand("agents.agent_state_loadagentstate_state")
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_pages_own_instructions_are_not_the_graphs(role: Any) -> None:
    """A client that has only text has no other way to say how it wants to be answered."""
    told = Turn(messages=(text_message(role, "You sit in a page."), U1))
    made = build_run_request(told, GraphThreadState(), GraphSchema(), {}).input
    assert made is not None
    assert [item["content"] for item in made["messages"]] == ["one"]
    made = build_run_request(
        replace(told, client=TurnClient(shows_interrupts=False)), GraphThreadState(), GraphSchema(), {}
    ).input
    assert made is not None
    assert [item["content"] for item in made["messages"]] == ["You sit in a page.", "one"]


def test_only_what_is_new() -> None:
    more = text_message("user", "three", id="u3")
    assert list_types_and_ids(diff_messages([U1, A1, U2, A2, more], THREAD_MESSAGES, ())) == [("human", "u3")]
    foreign = text_message("assistant", "sent by hand", id="h1")
    assert list_types_and_ids(diff_messages([U1, A1, U2, A2, foreign, more], THREAD_MESSAGES, ())) == [("human", "u3")]


def test_what_the_graph_keeps_for_itself_stays() -> None:
    inner = {"type": "ai", "id": "inner", "content": "hidden"}
    assert list_types_and_ids(
        diff_messages([U1, A1, text_message("user", "x", id="u9")], [*THREAD_MESSAGES[:2], inner], ())
    ) == [("human", "u9")]


def test_an_edited_message_takes_back_what_came_after() -> None:
    edited = text_message("user", "zwo", id="u2b")
    found = list_types_and_ids(diff_messages([U1, A1, edited], THREAD_MESSAGES, ()))
    assert found == [("remove", "u2"), ("remove", "a2"), ("human", "u2b")]
    in_place = list_types_and_ids(diff_messages([U1, A1, text_message("user", "zwo", id="u2")], THREAD_MESSAGES, ()))
    assert in_place == [("remove", "u2"), ("remove", "a2"), ("human", "u2")]


def test_another_answer_is_wanted() -> None:
    assert list_types_and_ids(diff_messages([U1, A1, U2], THREAD_MESSAGES, ())) == [("remove", "a2")]


def test_without_ids_what_follows_the_last_answer_is_new() -> None:
    posted = [text_message("user", "one"), text_message("assistant", "eins"), text_message("user", "two")]
    assert [item["content"] for item in diff_messages(posted, THREAD_MESSAGES[:2], ())] == ["two"]


def test_results_go_to_calls_that_wait() -> None:
    calling = Message("assistant", calls=(ToolCall("c1", "paint", "{}"), ToolCall("c2", "add", "{}")), id="a3")
    held = [
        to_langchain_message(U1),
        to_langchain_message(calling),
        {"type": "tool", "tool_call_id": "c2", "content": "5", "id": "x"},
    ]
    mine, theirs = (text_message("tool", "", call_id="c1", id="r1"), text_message("tool", "9", call_id="c2", id="r2"))
    stray = text_message("tool", "?", call_id="c9", id="r9")
    found = diff_messages([U1, calling, theirs, mine, stray], held, ["paint"])
    assert [item["tool_call_id"] for item in found] == ["c1"]
    assert diff_messages([U1, calling, mine], held, []) == [], "an empty result of a call that nobody answered is none"


def test_messages_as_langchain_has_them() -> None:
    calling = Message("assistant", (TextMessagePart("So."),), (ToolCall("c", "add", '{"a": 1}'),), id="a")
    assert to_langchain_message(calling) == {
        "type": "ai",
        "content": "So.",
        "id": "a",
        "tool_calls": [{"type": "tool_call", "id": "c", "name": "add", "args": {"a": 1}}],
    }
    seen = Message(
        "user", (TextMessagePart("See"), ImageMessagePart("data:x", "low"), FileMessagePart("f.pdf", data="AA=="))
    )
    assert to_langchain_message(seen)["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
        {"type": "file", "file": {"filename": "f.pdf", "file_data": "AA=="}},
    ]
    values = {
        "messages": [
            *THREAD_MESSAGES[:2],
            to_langchain_message(calling),
            to_langchain_message(text_message("tool", "2", call_id="c", id="r")),
            7,
        ]
    }
    assert list(messages_from_state(values)) == [
        U1,
        A1,
        Message("assistant", (TextMessagePart("So."),), (ToolCall("c", "add", '{"a":1}'),), id="a"),
        text_message("tool", "2", call_id="c", id="r"),
    ]


@pytest.mark.demand("agents.agent_state_loadagentstate_state")
def test_state_tools_and_context_go_where_graphs_look_for_them() -> None:
    turn = Turn(messages=(U1,), tools=(PAINT,), state={"x": 1, "tools": "no"}, context=(AppContext("page", "list"),))
    tools = [{"name": "paint", "description": "Paints.", "parameters": {"type": "object"}}]
    context = [{"description": "page", "value": "list"}]
    asked = build_run_request(turn, GraphThreadState(), GraphSchema(), {})
    assert asked.input == {
        "x": 1,
        "messages": [to_langchain_message(U1)],
        "tools": tools,
        "copilotkit": {"actions": tools, "context": context},
    }
    known = GraphSchema(inputs=frozenset(("messages",)))
    assert (build_run_request(turn, GraphThreadState(), known, {}).input or {}).keys() == {"messages"}


def test_a_client_sets_up_only_what_the_graph_declares() -> None:
    theirs = {"tone": "kind", "user_id": "root", "thread_id": "x", "model": "big", "undeclared": 1}
    turn = Turn(
        messages=(U1,),
        client=TurnClient(forwarded=ForwardedProps(config={"configurable": theirs, "recursion_limit": 10_000})),
    )
    schema = GraphSchema(settings=frozenset(("tone", "user_id", "thread_id", "model")))
    asked = build_run_request(
        turn, GraphThreadState(), schema, {"configurable": {"model": "small"}, "recursion_limit": 5}
    )
    assert asked.config == {"configurable": {"tone": "kind", "model": "small"}, "recursion_limit": 5}
    assert build_run_request(turn, GraphThreadState(), GraphSchema(), {}).config == {}


TWO_INTERRUPTS = GraphThreadState(
    {"messages": THREAD_MESSAGES}, ("review",), (GraphInterrupt("i1", "Sure?"), GraphInterrupt("i2", "Really?"))
)
ONE_INTERRUPT = GraphThreadState({"messages": THREAD_MESSAGES}, ("review",), (GraphInterrupt("i1", "Sure?"),))


def build_resume_request(thread_state: GraphThreadState, *answers: InterruptAnswer) -> GraphRunRequest:
    return build_run_request(Turn(messages=(U1,), answers=answers), thread_state, GraphSchema(), {})


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_answers() -> None:
    thread = "0" * 32
    assert build_resume_request(ONE_INTERRUPT, InterruptAnswer(f"lg-{thread}-i1", payload={"ok": 1})).resume == {
        "ok": 1
    }
    assert build_resume_request(ONE_INTERRUPT, InterruptAnswer(f"lg-{thread}-i1", text='{"ok": 1}')).resume == {"ok": 1}
    assert build_resume_request(ONE_INTERRUPT, InterruptAnswer(f"lg-{thread}-i1", text="42")).resume == "42", (
        "a number may be a name"
    )
    assert build_resume_request(ONE_INTERRUPT, InterruptAnswer("", text="yes")).resume == "yes", "the one that waits"
    assert build_resume_request(ONE_INTERRUPT, InterruptAnswer(f"lg-{thread}-i1", "cancelled")).resume == {
        "cancelled": True
    }
    assert build_resume_request(TWO_INTERRUPTS, InterruptAnswer(f"lg-{thread}-i2", text="no")).resume == {"i2": "no"}
    helped = GraphThreadState(None, ("n",), (GraphInterrupt("i1", {"__copilotkit_interrupt_value__": "Who?"}),))
    assert build_resume_request(helped, InterruptAnswer("", text="Ada")).resume == [{"type": "human", "content": "Ada"}]


@pytest.mark.parametrize("id", ["i1", "lg-x-i1", f"lg-{'0' * 32}-i9", "ask_1"])
def test_an_answer_to_nothing(id: str) -> None:
    with pytest.raises(ContinuationGone):
        build_resume_request(ONE_INTERRUPT, InterruptAnswer(id, text="yes"))
    with pytest.raises(ContinuationGone):
        build_resume_request(GraphThreadState(), InterruptAnswer(f"lg-{'0' * 32}-i1", text="yes"))


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_what_is_said_is_the_answer_to_an_open_question() -> None:
    turn = Turn(messages=(U1, A1, U2, A2, text_message("user", "yes", id="u3")))
    assert build_run_request(turn, ONE_INTERRUPT, GraphSchema(), {}).resume == [
        {"type": "human", "content": "yes", "id": "u3"}
    ]
    edited = Turn(messages=(U1, A1, text_message("user", "zwo", id="u2b")))
    assert build_run_request(edited, ONE_INTERRUPT, GraphSchema(), {}).input is not None, "said anew, it is no answer"


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
def test_going_on_from_a_node() -> None:
    stopped = parse_thread_state(
        {"values": {"messages": THREAD_MESSAGES}, "next": ["note"], "tasks": [{"interrupts": []}]}
    )
    assert stopped.interrupts == (GraphInterrupt("at-note"),)
    told = Turn(messages=(U1, A1, U2, A2), state={"x": 1}, client=TurnClient(forwarded=ForwardedProps(node="desk")))
    asked = build_run_request(told, stopped, GraphSchema(), {})
    assert (asked.node, asked.input, (asked.update or {})["x"]) == ("desk", None, 1)
    by_agui = Turn(messages=(U1,), client=TurnClient(forwarded=ForwardedProps({"nodeName": "desk"})))
    assert build_run_request(by_agui, stopped, GraphSchema(), {}).node == "desk"
    assert build_run_request(told, GraphThreadState(), GraphSchema(), {}).node == "", (
        "where nothing waits, it begins anew"
    )
    ended = Turn(messages=(U1,), client=TurnClient(forwarded=ForwardedProps(node="__end__")))
    assert build_run_request(ended, stopped, GraphSchema(), {}).input is not None


def test_a_breakpoint_is_a_question() -> None:
    stopped = parse_thread_state({"values": {}, "next": ["note"]})
    yes = build_resume_request(stopped, InterruptAnswer("", payload={"approved": True}))
    assert (yes.input, yes.resume, yes.declined) == (None, None, False)
    assert build_resume_request(stopped, InterruptAnswer("", payload={"approved": False})).declined
