"""Votes on answers reach the operator's own code: the hook on_feedback."""

import asyncio
import logging
from typing import Any

import pytest

from rightseat import Hooks, Runtime
from rightseat.errors import Forbidden
from rightseat.types.turn import Feedback
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io
VOTE = {
    "vote": "thumbs_down",
    "tags": ["Not factually correct"],
    "user_comment": "The data was wrong",
    "ai_response": "It is 7.",
    "user_prompt": "What is the rate?",
    "trace_id": "chat-1",
}


async def post_vote(hook: Any, body: dict[str, Any] = VOTE, seconds: float = 5) -> tuple[int, bytes]:
    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_feedback=hook, timeout=seconds))
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/feedback", body)
        head = await client.read_head()
        return head.status, await client.read_body()


@pytest.mark.demand("openbb.votes_reach_a_hook")
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_vote_has_reached_the_hook_when_it_is_answered(kind: str) -> None:
    votes: list[Feedback] = []

    async def keep(feedback: Feedback) -> None:
        await asyncio.sleep(0)
        votes.append(feedback)

    status, body = await post_vote(votes.append if kind == "plain" else keep)
    assert (status, body) == (200, b'{"status":"ok"}')
    [feedback] = votes
    assert feedback == Feedback(
        vote="thumbs_down",
        tags=("Not factually correct",),
        comment="The data was wrong",
        question="What is the rate?",
        answer="It is 7.",
        conversation="chat-1",
        owner="local",
    )


@pytest.mark.demand("openbb.votes_reach_a_hook")
async def test_a_vote_without_a_comment_or_texts() -> None:
    votes: list[Feedback] = []
    body = {"vote": "thumbs_up", "ai_response": {"text": "x"}, "user_prompt": None}
    assert (await post_vote(votes.append, body))[0] == 200
    [feedback] = votes
    assert feedback == Feedback(vote="thumbs_up", answer='{"text":"x"}', owner="local")


@pytest.mark.demand("openbb.votes_reach_a_hook")
async def test_a_vote_that_the_hook_refuses_loses_or_leaves_waiting(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(feedback: Feedback) -> None:
        raise Forbidden("Votes are closed.")

    def lose(feedback: Feedback) -> None:
        raise OSError("the disk is full")

    async def wait(feedback: Feedback) -> None:
        await asyncio.Event().wait()

    status, body = await post_vote(refuse)
    assert status == 403
    assert b"Votes are closed." in body
    caplog.set_level(logging.ERROR)
    status, body = await post_vote(lose)
    assert status == 500
    assert b"disk" not in body
    assert "report_feedback" in caplog.text
    status, body = await post_vote(wait, seconds=0.1)
    assert status == 503
    assert "on_feedback took longer" in caplog.text
