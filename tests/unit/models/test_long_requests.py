"""Requests that a vendor would refuse as too long: shortened, capped, and sent again over HTTP."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.errors import ContextTooLong
from rightseat.models._vendor.errors import VendorErrors, parse_token_numbers
from rightseat.models.catalog import lookup_capabilities
from rightseat.models.openai import OpenAIModel
from tests.kit.answers import UpstreamReply, answer_text, write_json
from tests.kit.app_server import serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

MESSAGES = [
    message
    for n in range(30)
    for message in (
        {"role": "user", "content": f"question {n}"},
        {"role": "assistant", "content": f"answer {n} " + "word " * 40},
    )
]


@each_case(
    ("message", "numbers"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, you requested 100020 tokens (20 in the "
            "messages, 100000 in the completion).",
            (20, 8192),
        ),
        ("maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", (9000, 8192)),
        (
            "'max_tokens' is too large: 100000. This model's maximum context length is 4096 tokens and your request "
            "has 20 input tokens",
            (20, 4096),
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", (210_000, 200_000)),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease", (190_000, 200_000)),
        (
            "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
            (1_100_000, 1_048_576),
        ),
        ("Please reduce the length.", (None, None)),
        ("9" * 5000, (None, None)),
    ],
)
def test_the_numbers_of_a_refusal(message: str, numbers: tuple[int | None, int | None]) -> None:
    assert parse_token_numbers(message) == numbers
    error = VendorErrors().context_too_long(message)
    assert isinstance(error, ContextTooLong)
    assert (error.tokens, error.window) == numbers


def limit_words(most: int, sizes: list[int]) -> UpstreamReply:
    """A vendor that takes this many words, and says no numbers."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        words = sum(len(message["content"].split()) for message in request.json["messages"])
        sizes.append(words)
        if words > most:
            error = {"message": "Please reduce the length.", "code": "context_length_exceeded"}
            await write_json(connection, 400, {"error": error})
        else:
            await answer_text()(connection, request)

    return reply


async def post_chat(url: str, **body: Any) -> tuple[int, dict[str, Any]]:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", body)
        head = await client.read_head()
        return head.status, await client.read_json()


@pytest.mark.io
@pytest.mark.demand("window.refused_prompts_are_shortened")
async def test_a_vendor_that_refuses_gets_less_until_it_answers() -> None:
    sizes: list[int] = []
    async with FakeUpstream() as upstream:
        upstream.reply = limit_words(500, sizes)
        model = OpenAIModel("some-model", base_url=upstream.base_url)
        async with serve_runtime(Runtime(model=model)) as server:
            messages = [*MESSAGES, {"role": "user", "content": "now"}]
            status, body = await post_chat(server.url, messages=messages)
            assert (status, body["history_cut"]["dropped"] > 20) == (200, True)
            assert sizes == sorted(sizes, reverse=True)
            assert 2 <= len(sizes) <= 5
            before = len(sizes)
            messages += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "and now?"}]
            assert (await post_chat(server.url, messages=messages))[0] == 200
            assert len(sizes) == before + 1, "the next request is short at once"
            # The newest message alone is too long: the refusal is passed on with its size.
            system = {"role": "system", "content": "Be brief."}
            status, body = await post_chat(server.url, messages=[system, {"role": "user", "content": "word " * 800}])
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
    assert "message 2 (user), about 1004 tokens" in body["error"]["message"]


@pytest.mark.io
@pytest.mark.demand("window.answers_are_capped")
@pytest.mark.parametrize(
    ("name", "window", "sent"), [("gpt-4o-mini", None, [16384]), ("some-model", 8192, [100_000, 8172])]
)
async def test_a_long_answer_is_capped_for_the_vendor(name: str, window: int | None, sent: list[int]) -> None:
    wanted: list[int] = []

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        wanted.append(request.json.get("max_tokens") or request.json["max_completion_tokens"])
        if window is not None and wanted[-1] + 20 > window:
            words = (
                f"This model's maximum context length is {window} tokens, and you requested more (20 in the messages)"
            )
            await write_json(connection, 400, {"error": {"message": words, "code": "context_length_exceeded"}})
        else:
            await answer_text()(connection, request)

    async with FakeUpstream() as upstream:
        upstream.reply = reply
        model = OpenAIModel(name, base_url=upstream.base_url, capabilities=lookup_capabilities("openai", name))
        async with serve_runtime(Runtime(model=model)) as server:
            status, _ = await post_chat(
                server.url, messages=[{"role": "user", "content": "Say hi."}], max_tokens=100_000
            )
    assert status == 200
    assert wanted == sent
