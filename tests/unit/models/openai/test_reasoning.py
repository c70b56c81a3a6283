"""Thoughts of earlier answers: which server gets them back, in which fields, and what becomes of lost ones."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.models._vendor.reasoning import ReasoningRecorder, ReasoningRules, add_reasoning, find_rules, split_blob
from rightseat.models._vendor.thinking_cache import ThinkingCache
from rightseat.models.openai import model as make_model
from rightseat.types.messages import Message, ProviderData, ToolCall, make_client_reasoning, text_message
from rightseat.types.model import Prompt
from tests.contract.doors.client_result import TOOL_SCHEMA
from tests.kit.app_server import serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors.thinking import ThinkingVendor, VendorName

TOOLS = [{"type": "function", "function": {"name": "show", "parameters": TOOL_SCHEMA}}]
CALL = ToolCall("call_1", "show", "{}")
CALLING = Message("assistant", calls=(CALL,))
DEEPSEEK = find_rules("api.deepseek.com", "deepseek-chat")


@each_case(
    ("host", "name", "text", "placeholder"),
    [
        ("api.deepseek.com", "deepseek-reasoner", "turns", ""),
        ("gateway.example", "deepseek/deepseek-v4-flash", "turns", ""),
        ("gateway.example", "deepseek-v3.2", "turns", ""),
        ("gateway.example", "deepseek-r1", "never", None),
        ("gateway.example", "deepseek-chat", "never", None),
        ("api.moonshot.cn", "kimi-latest", "calls", "."),
        ("gateway.example", "moonshotai/kimi-k2-thinking", "calls", "."),
        ("gateway.example", "kimi-k2", "never", None),
        ("api.z.ai", "glm-5", "calls", None),
        ("openrouter.ai", "any/model", "calls", None),
        ("generativelanguage.googleapis.com", "gemini-3-pro", "never", None),
        ("gateway.example", "my-model", "never", None),
    ],
)
def test_vendors_are_found_by_host_and_by_name(host: str, name: str, text: str, placeholder: str | None) -> None:
    rules = find_rules(host, name)
    assert (rules.text, rules.placeholder, rules.origin) == (text, placeholder, f"{host}/{name}")


def test_fields_of_a_vendors_own_server_go_to_no_other() -> None:
    assert find_rules("api.minimax.io", "MiniMax-M2").body == {"reasoning_split": True}
    assert find_rules("gateway.example", "MiniMax-M2").body == {}
    assert find_rules("api.deepseek.com", "x").disables_by_type
    assert not find_rules("gateway.example", "deepseek-v4").disables_by_type


@pytest.mark.parametrize("returns", [True, False])
def test_the_option_decides(returns: bool) -> None:
    assert find_rules("gateway.example", "my-model", returns_reasoning=returns).active is returns
    assert find_rules("api.deepseek.com", "x", returns_reasoning=returns).active is returns
    assert find_rules("gateway.example", "gemini-3", "google", returns_reasoning=returns).signatures is returns


async def run_requests(vendor: VendorName, name: str, *bodies: list[dict[str, Any]]) -> tuple[list[Any], FakeUpstream]:
    """Post each list of messages to a server of its own model; return the replies and the upstream."""
    async with FakeUpstream() as upstream:
        upstream.reply = ThinkingVendor(vendor, thoughts=["Mine."])
        model = make_model(name, {"base_url": upstream.base_url})
        replies = []
        async with serve_runtime(Runtime(model=model)) as server:
            for messages in bodies:
                async with RawHttpClient(server.url) as client:
                    await client.post_json("/v1/chat/completions", {"messages": messages, "tools": TOOLS})
                    assert (await client.read_head()).status == 200, upstream.reply.refusals
                    replies.append(await client.read_json())
        return replies, upstream


def make_history(**thoughts: Any) -> list[dict[str, Any]]:
    call = {"id": "call_of_another_server", "type": "function", "function": {"name": "show", "arguments": "{}"}}
    return [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call], **thoughts},
        {"role": "tool", "tool_call_id": call["id"], "content": "sunny"},
    ]


@pytest.mark.io
@pytest.mark.demand("models.thoughts_returned_where_demanded")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thoughts_that_a_client_posts_are_used(field: str) -> None:
    _, upstream = await run_requests("kimi", "kimi-k2.5", make_history(**{field: "Mine."}))
    assert upstream.requests[0].messages[1]["reasoning_content"] == "Mine."


@pytest.mark.io
@pytest.mark.parametrize("thoughts", [{}, {"reasoning": {"effort": 1}}, {"reasoning_content": None}])
@pytest.mark.parametrize(("vendor", "name", "text"), [("kimi", "kimi-k3", "."), ("deepseek", "deepseek-v4", "")])
async def test_lost_thoughts_have_a_placeholder(
    vendor: VendorName, name: str, text: str, thoughts: dict[str, Any]
) -> None:
    _, upstream = await run_requests(vendor, name, make_history(**thoughts))
    assert upstream.requests[0].messages[1]["reasoning_content"] == text


@pytest.mark.io
async def test_thoughts_that_a_client_posts_go_to_no_other_vendor() -> None:
    history = make_history(reasoning_content="mine", reasoning="mine", reasoning_details=[{"type": "reasoning.text"}])
    await run_requests("strict", "gpt-9", history)


@pytest.mark.io
async def test_a_request_that_is_posted_twice_finds_the_thoughts_twice() -> None:
    """The engine's own copy is taken by the first one."""
    async with FakeUpstream() as upstream:
        upstream.reply = vendor = ThinkingVendor("deepseek")
        model = make_model("deepseek-v4", {"base_url": upstream.base_url})
        async with serve_runtime(Runtime(model=model)) as server:

            async def post(messages: list[dict[str, Any]]) -> Any:
                async with RawHttpClient(server.url) as client:
                    await client.post_json("/v1/chat/completions", {"messages": messages, "tools": TOOLS})
                    await client.read_head()
                    return (await client.read_json())["choices"][0]["message"]

            question = {"role": "user", "content": "Hi"}
            answer = await post([question])
            assert answer["reasoning_content"] == "Thought 1."
            [call] = answer["tool_calls"]
            assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
            result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
            for _ in range(2):
                await post([question, assistant, result])
        assert vendor.refusals == []
    assert [request.messages[1]["reasoning_content"] for request in upstream.requests[1:]] == ["Thought 1."] * 2


def format_reasoning(message: Message, rules: ReasoningRules, *, in_tool_loop: bool = True) -> dict[str, Any]:
    calls = [{"id": call.id} for call in message.calls]
    out: dict[str, Any] = {"tool_calls": calls} if calls else {}
    add_reasoning(out, message, rules, in_tool_loop=in_tool_loop)
    return out


def test_deepseek_gets_no_thoughts_in_a_conversation_without_calls() -> None:
    spoken = text_message("assistant", "Hi", opaque=make_client_reasoning("Hm."))
    assert format_reasoning(spoken, DEEPSEEK, in_tool_loop=False) == {}
    assert format_reasoning(spoken, DEEPSEEK) == {"reasoning_content": "Hm."}
    assert format_reasoning(text_message("assistant", "Hi"), DEEPSEEK) == {"reasoning_content": ""}


def test_what_only_its_vendor_can_read_goes_to_no_other() -> None:
    rules = find_rules("openrouter.ai", "a/b")
    blob = {"origin": rules.origin, "field": "reasoning", "text": "Hm.", "details": [{"type": "reasoning.encrypted"}]}
    message = Message("assistant", calls=(CALL,), opaque=(ProviderData("reasoning", blob),))
    assert format_reasoning(message, rules)["reasoning_details"] == blob["details"]
    assert format_reasoning(message, rules)["reasoning"] == "Hm."
    other = format_reasoning(message, find_rules("openrouter.ai", "c/d"))
    assert (other.get("reasoning_details"), other["reasoning_content"]) == (None, "Hm.")
    assert "reasoning_details" not in format_reasoning(message, DEEPSEEK)


def test_gemini_3_gets_a_placeholder_for_calls_of_others() -> None:
    rules = find_rules("generativelanguage.googleapis.com", "gemini-3-flash")
    [call] = format_reasoning(CALLING, rules)["tool_calls"]
    assert call["extra_content"]["google"]["thought_signature"]
    older = find_rules("generativelanguage.googleapis.com", "gemini-2.5-flash")
    assert format_reasoning(CALLING, older)["tool_calls"] == [{"id": "call_1"}]


def test_details_of_each_kind_are_joined_as_they_belong() -> None:
    recorder = ReasoningRecorder(find_rules("openrouter.ai", "a/b"))
    recorder.add_details(
        [
            {"type": "reasoning.summary", "summary": "a", "index": 0},
            {"type": "reasoning.summary", "summary": "b", "index": 0},
            {"type": "reasoning.encrypted", "data": "x", "index": 1},
            {"type": "reasoning.encrypted", "data": "y", "index": 1},
            "nonsense",
            {"type": "reasoning.text", "text": "c", "index": 2, "id": "1"},
            {"type": "reasoning.text", "text": "d", "index": 2, "id": "2"},
        ]
    )
    [chunk] = recorder.make_chunks(has_calls=True)
    texts = [entry.get("summary") or entry.get("data") or entry.get("text") for entry in chunk.blob["details"]]
    assert texts == ["ab", "x", "y", "c", "d"]


def test_an_answer_without_thoughts_keeps_nothing() -> None:
    assert ReasoningRecorder(DEEPSEEK).make_chunks(has_calls=True) == []
    recorder = ReasoningRecorder(find_rules("api.z.ai", "glm-5"))
    recorder.add_text("reasoning_content", "Hm.")
    assert recorder.make_chunks(has_calls=False) == []


def test_the_calls_of_an_answer_may_come_back_as_messages_of_their_own() -> None:
    cache = ThinkingCache(split_blob=split_blob)
    calls = (CALL, ToolCall("call_2", "show", "{}"))
    blob = {"origin": "o", "text": "Hm.", "signatures": {"1": {"google": 1}}}
    whole = Message("assistant", calls=calls, opaque=(ProviderData("reasoning", blob),))
    cache.restore(Prompt(messages=(whole,)))
    posted = tuple(Message("assistant", calls=(call,)) for call in calls)
    first, second = cache.restore(Prompt(messages=posted)).messages
    assert first.opaque[0].blob == {"origin": "o", "text": "Hm."}
    assert second.opaque[0].blob == {"origin": "o", "text": "Hm.", "signatures": {"0": {"google": 1}}}
    [unknown] = cache.restore(Prompt(messages=(Message("assistant", calls=(ToolCall("x", "show", ""),)),))).messages
    assert unknown.opaque == ()


def test_a_clients_text_replaces_that_of_the_cache() -> None:
    cache = ThinkingCache(split_blob=split_blob)
    blob = {"origin": "o", "text": "Hm.", "details": [1]}
    cache.restore(Prompt(messages=(Message("assistant", calls=(CALL,), opaque=(ProviderData("reasoning", blob),)),)))
    posted = Message("assistant", calls=(CALL,), opaque=make_client_reasoning("Mine."))
    [restored] = cache.restore(Prompt(messages=(posted,))).messages
    assert restored.opaque == (ProviderData("reasoning", {**blob, "text": "Mine."}),)


def test_old_thoughts_leave_a_full_cache() -> None:
    cache = ThinkingCache(max_bytes=300)
    for number in range(10):
        blob = {"origin": "o", "text": "x" * 100}
        call = ToolCall(f"call_{number}", "show", "{}")
        cache.restore(Prompt(messages=(Message("assistant", calls=(call,), opaque=(ProviderData("p", blob),)),)))
    posted = tuple(Message("assistant", calls=(ToolCall(f"call_{number}", "show", "{}"),)) for number in range(10))
    kept = [bool(message.opaque) for message in cache.restore(Prompt(messages=posted)).messages]
    assert kept == [False] * 8 + [True] * 2
