"""`pattern` of any type, as the guide has it: over HTTP, by what reaches the API."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.plugins.flows.served import OpenAIFlowClient, make_json_body, serve_plugin
from tests.unit.plugins.http.recording_api import serve_recording_api

FIELDS: dict[str, Any] = {
    "tags": {"type": "array", "items": {"type": "string"}, "pattern": "[a-z]{2}"},
    "range": {"type": "array", "items": {"type": "integer"}, "pattern": r"\[\d{1,2},\d{1,2}\]"},
    "force": {"type": "boolean", "pattern": "false"},
}
VALID = {"tags": ["ab"], "range": [1, 20], "force": False}


@pytest.mark.io
@pytest.mark.demand("plugins.arguments_honour_schema_exactly")
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"tags": ["ab", "abc"]}, "tags[1]"),
        ({"range": [1, 2, 3]}, r"range: its JSON does not match the pattern \\[\\d{1,2},\\d{1,2}\\]"),
        ({"force": True}, "force"),
    ],
)
async def test_a_value_that_does_not_match_is_never_sent(tmp_path: Path, wrong: Any, problem: str) -> None:
    model = FakeModel(
        reply_calls(("p_post_jobs", json.dumps(VALID | wrong))),
        reply_calls(("p_post_jobs", json.dumps(VALID))),
        reply_text("Done."),
    )
    paths = {"/jobs": {"post": make_json_body("tags", "range", "force", **FIELDS)}}
    async with serve_recording_api() as api, serve_plugin(tmp_path, api.url, paths, model) as url:
        seen = await OpenAIFlowClient(url, "default").send_message("Start a job.")
    assert seen.text == "Done."
    assert [json.loads(request.body) for request in api.requests] == [VALID]
    [told] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert problem in told
