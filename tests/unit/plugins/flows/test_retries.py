"""`retry` of a step is what it says, whatever is tried again below it: counted at the server that is called."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.models.openai import OpenAIModel
from tests.kit.faults import fail_with_status
from tests.kit.upstream import FakeUpstream
from tests.unit.plugins.flows.served import AguiFlowClient, serve_plugin
from tests.unit.plugins.http.recording_api import make_json_response, serve_recording_api

pytestmark = pytest.mark.io
STEP = "{name: start, call_type: api, params: {endpoint: %s /x, values: {}}%s, next: end}"


def make_flow(step: str) -> str:
    return f"name: f\ndescription: d\nsteps:\n  - {step}\n  - {{name: end, call_type: none, params: {{say: Done.}}}}\n"


async def count_requests(folder: Path, step: str, *statuses: int, rules: str = "") -> tuple[int, str]:
    """How many requests arrive while the API answers with these statuses, then 200; and what the run says."""
    async with serve_recording_api() as api:
        api.replies = [make_json_response({"n": number}, status) for number, status in enumerate(statuses)]
        paths: dict[str, Any] = {"/x": {method: {} for method in ("get", "post", "put")}}
        async with serve_plugin(folder, api.url, paths, rules=rules, f=make_flow(step)) as url:
            person = AguiFlowClient(url, "p.f")
            seen = await person.send_message("go")
        return len(api.requests), seen.text or "".join(person.errors)


@pytest.mark.long
@pytest.mark.demand("flows.retry_never_multiplies")
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
async def test_retry_of_a_step_is_all_there_is(tmp_path: Path, method: str) -> None:
    count, text = await count_requests(tmp_path, STEP % (method, ", retry: 3"), *[503] * 20)
    assert (count, "answered 503" in text) == (4, True)


@pytest.mark.demand("flows.retry_never_multiplies")
async def test_a_retry_of_zero_sends_once_and_none_leaves_it_to_the_plugin(tmp_path: Path) -> None:
    assert (await count_requests(tmp_path / "a", STEP % ("GET", ", retry: 0"), *[503] * 20))[0] == 1
    assert (await count_requests(tmp_path / "b", STEP % ("GET", ""), *[503] * 20))[0] == 3
    assert (await count_requests(tmp_path / "c", STEP % ("GET", ""), *[503] * 20, rules="retries = 0"))[0] == 1


@pytest.mark.demand("flows.retry_never_multiplies")
async def test_what_comes_within_the_retries_is_taken(tmp_path: Path) -> None:
    assert await count_requests(tmp_path / "a", STEP % ("GET", ", retry: 3"), 503, 503, 503) == (4, "Done.")
    # A status that HTTP does not repeat is repeated by the step alone.
    assert await count_requests(tmp_path / "b", STEP % ("GET", ", retry: 2"), 404, 503) == (3, "Done.")


@pytest.mark.long
@pytest.mark.demand("flows.retry_never_multiplies")
async def test_the_retries_of_a_step_with_steps_count_for_each_of_its_requests(tmp_path: Path) -> None:
    inner = "{name: one, call_type: api, params: {endpoint: GET /x, values: {}}}"
    step = f"{{name: start, call_type: loop, retry: 2, next: end, params: {{max: 2, steps: [{inner}]}}}}"
    assert (await count_requests(tmp_path / "a", step, *[503] * 20))[0] == 3
    assert (await count_requests(tmp_path / "b", step, *[404] * 20))[0] == 3
    # Each round has the retries of its own.
    assert await count_requests(tmp_path / "c", step, 503, 503, 200, 503, 503, 200) == (6, "Done.")
    branches = f"{{a: {inner}, b: {inner}}}"
    step = f"{{name: start, call_type: parallel, retry: 1, next: end, params: {{at_once: 1, branches: {branches}}}}}"
    assert await count_requests(tmp_path / "d", step, 503, 200, 503, 200) == (4, "Done.")


@pytest.mark.long
@pytest.mark.demand("flows.retry_never_multiplies")
async def test_the_requests_to_a_model_are_counted_too(tmp_path: Path) -> None:
    flow = make_flow("{name: start, call_type: llm, params: {user_prompt: Hello}, retry: 3, next: end}")
    async with FakeUpstream() as upstream:
        upstream.reply = fail_with_status(503)
        model = OpenAIModel("m", base_url=upstream.base_url)
        async with serve_plugin(tmp_path, "http://127.0.0.1:9", {"/x": {"get": {}}}, model, f=flow) as url:
            assert (await AguiFlowClient(url, "p.f").send_message("go")).error == "flow_failed"
        await model.close()
        assert len(upstream.requests) == 4
