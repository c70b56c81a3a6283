"""Everything that a client can say in GenerateCopilotResponseInput, as the model or the tools hear it."""

import json
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.engine.loop import Assistant
from rightseat.types.events import StateDelta, StateSnapshot, StepEnd, StepStart
from rightseat.types.messages import ImageMessagePart
from rightseat.types.model import Prompt, ToolChoice
from rightseat.types.tools import Result
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.doors.copilotkit.client import (
    CREATED_AT,
    DOCUMENT,
    GENERIC_DOCUMENT,
    GraphQLAnswer,
    make_action,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

over_documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])


PUBLIC_KEY = {"X-CopilotCloud-Public-API-Key": "ck_pub_1"}


async def capture_prompt(data_input: dict[str, Any], document: str = DOCUMENT, **more: Any) -> Prompt:
    model = FakeModel(reply_text("Yes."))
    async with serve_copilotkit(Runtime(model=model, **more)) as url:
        answer = await post_graphql(url, make_request_body(data_input, document), headers=PUBLIC_KEY)
    assert answer.text == "Yes.", answer.raw
    return model.prompts[0]


def make_call_message(id: str, name: str, arguments: str, parent: str | None = None) -> dict[str, Any]:
    made = {"name": name, "arguments": arguments, "parentMessageId": parent, "scope": None}
    return {"id": id, "createdAt": CREATED_AT, "actionExecutionMessage": made}


def make_result_message(id: str, content: str) -> dict[str, Any]:
    made = {"actionExecutionId": id, "actionName": "x", "result": content}
    return {"id": f"result-{id}", "createdAt": CREATED_AT, "resultMessage": made}


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@over_documents
async def test_every_kind_of_message(document: str) -> None:
    state = {"threadId": "t", "agentName": "a", "role": "assistant", "state": "{}", "running": True}
    state |= {"nodeName": "n", "runId": "r", "active": True}
    image = {"format": "PNG", "bytes": "AAAA", "role": "user"}
    prompt = await capture_prompt(
        make_input(
            make_text_message("be good", "system"),
            make_text_message("and brief", "developer"),
            make_text_message("first", id="u"),
            make_text_message("I look.", "assistant", "m"),
            make_call_message("c1", "setColor", '{"color":"red"}', "m"),
            make_result_message("c1", "done"),
            make_call_message("c2", "setColor", '{"color":"blue"}', "m"),
            make_result_message("c2", "done too"),
            make_call_message("c3", "setColor", "{}", "other"),
            make_result_message("c3", ""),
            {"id": "s", "createdAt": CREATED_AT, "agentStateMessage": state},
            {"id": "i", "createdAt": CREATED_AT, "imageMessage": image},
            {"id": "e", "createdAt": CREATED_AT},
            make_text_message("not for a model", "tool"),
            make_text_message("last", id="l"),
        ),
        document,
    )
    shown = [(m.role, m.text, [c.id for c in m.calls] or m.call_id) for m in prompt.messages]
    assert shown == [
        ("system", "be good", None),
        ("developer", "and brief", None),
        ("user", "first", None),
        ("assistant", "I look.", ["c1", "c2"]),
        ("tool", "done", "c1"),
        ("tool", "done too", "c2"),
        ("assistant", "", ["c3"]),
        ("tool", "", "c3"),
        ("user", "", None),
        ("user", "last", None),
    ]
    assert prompt.messages[-2].parts == (ImageMessagePart("data:image/png;base64,AAAA"),)


@pytest.mark.demand("copilotkit.inputs_whole_message_kind", "copilotkit.tool_list_order_de")
@over_documents
async def test_actions_of_the_page(document: str) -> None:
    """Server tools first, and a page's action never takes one's place; what is disabled is left out."""

    @tool
    def mine(a: int) -> int:
        """Mine."""
        return a

    page = [
        make_action("setColor"),
        make_action("off", "disabled"),
        make_action("far", "remote"),
        make_action("plain", None),
        make_action("mine"),
    ]
    given = make_input(frontend={"actions": page, "url": "http://x", "toDeprecate_fullContext": "old"})
    prompt = await capture_prompt(given, document, tools=[mine])
    assert [spec.name for spec in prompt.tools] == ["mine", "setColor", "plain"]
    assert prompt.tools[0].description == "Mine."
    assert prompt.tools[1].parameters["required"] == ["color"]
    agent = await capture_prompt({**given, "agentSession": {"agentName": "default"}}, document, tools=[mine])
    assert [spec.name for spec in agent.tools] == ["mine", "setColor", "far", "plain"]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@over_documents
async def test_forwarded_parameters(document: str) -> None:
    given = {"temperature": 0, "maxTokens": 12.0, "stop": ["a", "b"], "model": "any"}
    settings = (await capture_prompt(make_input(forwardedParameters=given), document)).settings
    assert (settings.temperature, settings.max_tokens, settings.stop) == (0, 12, ("a", "b"))
    assert isinstance(settings.max_tokens, int)


@pytest.mark.demand("copilotkit.inputs_whole_message_kind", "copilotkit.copilottask_suggestions_textarea_requests")
@pytest.mark.parametrize(
    ("given", "choice"),
    [
        ({}, ToolChoice()),
        ({"toolChoice": "auto"}, ToolChoice()),
        ({"toolChoice": "none"}, ToolChoice("none")),
        ({"toolChoice": "required"}, ToolChoice("required")),
        ({"toolChoice": "function", "toolChoiceFunctionName": "setColor"}, ToolChoice("named", "setColor")),
    ],
)
async def test_tool_choice(given: Any, choice: ToolChoice) -> None:
    assert (await capture_prompt(make_input(forwardedParameters=given))).tool_choice == choice


async def test_a_choice_of_what_is_not_offered() -> None:
    given = {"toolChoice": "function", "toolChoiceFunctionName": "fly"}
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        answer = await post_graphql(url, make_request_body(make_input(forwardedParameters=given)))
    assert "toolChoiceFunctionName" in answer.errors[0]["message"]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_a_model_by_its_name_and_an_agent_by_its_own() -> None:
    models = {name: FakeModel(reply_text(name), reply_text(name)) for name in ("one", "two")}
    runtime = Runtime(assistants=[Assistant(name, model) for name, model in models.items()])
    async with serve_copilotkit(runtime) as url:
        for given, name in (
            ({"forwardedParameters": {"model": "two"}}, "two"),
            ({}, "one"),
            ({"agentSession": {"agentName": "two", "nodeName": "n", "threadId": "x"}}, "two"),
        ):
            assert (await post_graphql(url, make_request_body(make_input(**given)))).text == name
        answer = await post_graphql(url, make_request_body(make_input(forwardedParameters={"model": "three"})))
    assert "'three'" in answer.errors[0]["message"]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_context_is_said_once() -> None:
    """The client writes it into its own system message, if there is one."""
    context = [{"description": "Page", "value": "Cart"}]
    alone = await capture_prompt(make_input(context=context))
    assert "Page: Cart" in alone.messages[0].text
    with_system = await capture_prompt(
        make_input(make_text_message("Page: Cart", "system"), make_text_message("hi"), context=context)
    )
    assert [m.text for m in with_system.messages] == ["Page: Cart", "hi"]
    session = {"agentName": "default"}
    agent = await capture_prompt(
        make_input(make_text_message("s", "system"), make_text_message("hi"), context=context, agentSession=session)
    )
    assert "Page: Cart" in agent.messages[0].text


@pytest.mark.demand("copilotkit.inputs_whole_message_kind", "copilotkit.copilottask_suggestions_textarea_requests")
@over_documents
@pytest.mark.parametrize("kind", ["Chat", "Task", "TextareaCompletion", "TextareaPopover", "Suggestion", None])
async def test_every_kind_of_request(document: str, kind: str | None) -> None:
    """CopilotTask, suggestions and the textarea ask in their own name, and are answered alike."""
    cloud = {"guardrails": {"inputValidationRules": {"allowList": [], "denyList": ["a"]}}}
    more = {"openaiAssistantAPI": {"runId": "r", "threadId": "t"}}
    await capture_prompt(make_input(metadata={"requestType": kind}, cloud=cloud, extensions=more), document)


@pytest.mark.demand("copilotkit.message_ids_parent_ids")
async def test_thread_and_run_are_given_back() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(*[reply_text("Yes.")] * 3))) as url:
        mine = await post_graphql(url, make_request_body(make_input(threadId="mine", runId="r7")))
        session = {"agentName": "default", "threadId": "theirs"}
        theirs = await post_graphql(url, make_request_body(make_input(threadId=None, agentSession=session)))
        new = await post_graphql(url, make_request_body(make_input(threadId=None)))
    assert (mine.response["threadId"], mine.response["runId"]) == ("mine", "r7")
    assert (theirs.response["threadId"], theirs.response["runId"]) == ("theirs", None)
    assert len(new.response["threadId"]) == 36


@tool
async def work(ctx: ToolContext) -> Any:
    """Work on the state that the page has."""
    yield StepStart("plan")
    yield StateSnapshot({"seen": ctx.turn.state, "list": [1]})
    yield StepEnd("plan")
    yield StateDelta([{"op": "add", "path": "/list/-", "value": 2}, {"op": "remove", "path": "/seen"}])
    yield Result("done")


async def run_work_tool(document: str, **more: Any) -> GraphQLAnswer:
    model = FakeModel(reply_calls(("work", "{}")), reply_text("Done."))
    async with serve_copilotkit(Runtime(model=model, tools=[work])) as url:
        return await post_graphql(url, make_request_body(make_input(**more), document))


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@over_documents
async def test_the_state_of_an_agent(document: str) -> None:
    state = {"agentName": "default", "state": '{"x":1}', "config": "{}"}
    session = {"agentName": "default"}
    other = {"agentName": "other", "state": '{"x":2}'}
    answer = await run_work_tool(document, agentStates=[other, state], agentSession=session, runId="r1")
    states = [m for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"]
    shown = [(m["nodeName"], m["active"], m["running"], json.loads(m["state"])) for m in states]
    first = {"seen": {"x": 1}, "list": [1]}
    assert shown == [
        ("plan", True, True, {"x": 1}),
        ("plan", True, True, first),
        ("plan", False, True, first),
        ("plan", False, True, {"list": [1, 2]}),
        ("__end__", False, False, {"list": [1, 2]}),
    ]
    assert {(m["agentName"], m["threadId"], m["runId"], m["role"]) for m in states} == {
        ("default", "t1", "r1", "assistant")
    }
    assert all(m["id"].startswith("ck-") and m["status"]["code"] == "Success" for m in states)


async def test_a_state_that_is_no_json_is_none() -> None:
    answer = await run_work_tool(DOCUMENT, agentState={"agentName": "default", "state": "{"})
    [first, *_] = [m for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"]
    assert json.loads(first["state"])["seen"] is None


@tool
def greet(ctx: ToolContext) -> str:
    """Greet."""
    return f"Hello {ctx.ask('Who?')}."


@tool(confirm=True)
def remove(path: str) -> str:
    """Remove."""
    return f"removed {path}"


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
@over_documents
@pytest.mark.parametrize(
    ("name", "arguments", "response", "told"),
    [
        ("greet", "{}", "Ada", "Hello Ada."),
        ("greet", "{}", "42", "Hello 42."),
        ("greet", "{}", "true", "Hello true."),
        ("remove", '{"path":"/x"}', '{"approved":true}', "removed /x"),
        ("remove", '{"path":"/x"}', "true", "removed /x"),
        ("remove", '{"path":"/x"}', "yes", "removed /x"),
        ("remove", '{"path":"/x"}', "No.", "denied"),
        ("remove", '{"path":"/x"}', '{"approved":false}', "denied"),
    ],
)
async def test_an_answer_to_a_question(document: str, name: str, arguments: str, response: str, told: str) -> None:
    model = FakeModel(reply_calls((name, arguments)), reply_text("Done."))
    async with serve_copilotkit(Runtime(model=model, tools=[greet, remove])) as url:
        first = await post_graphql(url, make_request_body(make_input(), document))
        [event] = first.response["metaEvents"]
        shown = {key: event[key] for key in ("name", "value")}
        posted = [{**shown, "response": response}]
        second = await post_graphql(url, make_request_body(make_input(metaEvents=posted), document))
    [found] = [m for m in second.messages if m["__typename"] == "ResultMessageOutput"]
    assert told in found["result"]
    assert found["actionExecutionId"] == json.loads(event["value"])["call"]
    assert second.text == "Done."


@pytest.mark.parametrize(
    "event",
    [
        {"name": "LangGraphInterruptEvent", "value": "no json", "response": "x"},
        {"name": "LangGraphInterruptEvent", "value": '{"id": 7}', "response": "x"},
        {"name": "LangGraphInterruptEvent", "value": '{"id": "ask_1"}'},
        {
            "name": "CopilotKitLangGraphInterruptEvent",
            "value": "[]",
            "response": "x",
            "messages": [make_text_message("m")],
        },
    ],
)
async def test_an_event_that_answers_nothing_of_ours(event: Any) -> None:
    assert (await capture_prompt(make_input(metaEvents=[event]))).messages[-1].text == "hi"


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_a_question_beside_a_call_of_the_page_waits_for_it() -> None:
    """The client posts as soon as it has run its call, and would forget the question."""
    model = FakeModel(reply_calls(("setColor", '{"color":"red"}'), ("remove", '{"path":"/x"}')), reply_text("Done."))
    async with serve_copilotkit(Runtime(model=model, tools=[remove])) as url:
        first = await post_graphql(url, make_request_body(make_input()))
        assert first.response["metaEvents"] == []
        [one, two] = first.messages
        history = [
            make_text_message("hi"),
            make_call_message(one["id"], "setColor", '{"color":"red"}', one["parentMessageId"]),
            make_result_message(one["id"], "ok"),
            make_call_message(two["id"], "remove", '{"path":"/x"}', two["parentMessageId"]),
        ]
        second = await post_graphql(url, make_request_body(make_input(*history)))
        [event] = second.response["metaEvents"]
        # Words at the end, or the client runs its call again, and again.
        [said] = second.messages
        assert "".join(said["content"]) == json.loads(event["value"])["message"]
        posted = [{"name": event["name"], "value": event["value"], "response": "yes"}]
        again = make_text_message("".join(said["content"]), "assistant", said["id"])
        third = await post_graphql(url, make_request_body(make_input(*history, again, metaEvents=posted)))
    assert third.text == "Done."
    assert [m.text for m in model.prompts[1].messages if m.role == "tool"] == ["ok", "removed /x"]
    assert not [m for m in model.prompts[1].messages if "Allow" in m.text]
