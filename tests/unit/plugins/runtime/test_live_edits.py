"""Files of a plugin that change under a running server: what waits, what goes on, and what comes back by itself."""

import itertools
import shutil
from pathlib import Path

import pytest

from tests.kit.client import RawHttpClient
from tests.unit.plugins.runtime.live_plugin import (
    CANCEL,
    DOCUMENT,
    FILES,
    OTHER,
    LivePlugin,
    serve_live_plugin,
    write_plugin,
)

pytestmark = pytest.mark.io
DELETE = "DELETE /orders/p-001"


async def edit_bystanders(shop: LivePlugin) -> None:
    """Change everything that a waiting DELETE does not depend on."""
    shop.write(flows__other=f"# A remark.\n{OTHER}")
    await shop.wait_reload()
    shop.write(flows__other=OTHER.replace("Lists", "Shows"))
    await shop.wait_reload()
    shop.write(openapi=f"# A remark.\n{DOCUMENT.replace('All orders.', 'Each order.')}")
    await shop.wait_reload()
    shop.write(plugin='{"name": "Shop", "description": "Another description."}')
    await shop.wait_reload()
    shop.write(flows__cancel=f"# A remark.\n{CANCEL}")
    await shop.wait_reload()


async def ask_openai(shop: LivePlugin, *texts: str) -> str:
    """Post the conversation, in which person and flow take turns; returns the answer or the error as text."""
    roles = itertools.cycle(("user", "assistant"))
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    async with RawHttpClient(shop.server.url) as client:
        await client.post_json("/v1/chat/completions", {"model": "shop.cancel", "messages": messages})
        await client.read_head()
        body = await client.read_json()
    answer: str = body["error"]["message"] if "error" in body else body["choices"][0]["message"]["content"]
    return answer


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_a_waiting_flow_goes_on_after_edits_of_what_it_does_not_depend_on(tmp_path: Path) -> None:
    async with serve_live_plugin(tmp_path) as shop:
        flow, call, delegated = shop.open_client(), shop.open_client("default", "t2"), shop.open_client("default", "t3")
        assert "DELETE /orders/p-001" in (await flow.send_message("p-001")).questions[0]["message"]
        assert len((await call.send_message("cancel p-001")).questions) == 1
        assert len((await delegated.send_message("flow p-001")).questions) == 1
        await edit_bystanders(shop)
        for count, client in enumerate((flow, call, delegated), 1):
            seen = await client.answer_question(True)
            assert (seen.error, client.failure) == (None, "")
            assert shop.api.requests.count(DELETE) == count
    assert shop.api.requests.count("POST /orders") == 2


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_a_waiting_flow_ends_when_its_own_flow_or_the_called_operation_changes(tmp_path: Path) -> None:
    async with serve_live_plugin(tmp_path) as shop:
        flow, call = shop.open_client(), shop.open_client("default", "t2")
        await flow.send_message("p-001")
        await call.send_message("cancel p-001")
        shop.write(openapi=DOCUMENT.replace("schema: {type: string}", "schema: {type: string, maxLength: 9}"))
        await shop.wait_reload()
        assert (await flow.answer_question(True)).error == "already_answered"
        assert flow.failure == (
            "What the step 'drop' calls has changed since it asked. Ask again: finished steps are not repeated."
        )
        assert (await call.answer_question(True)).error == "already_answered"
        assert shop.api.requests == ["POST /orders"]

        (question,) = (await flow.send_message("p-001")).questions
        assert "DELETE /orders/p-001" in question["message"]
        shop.write(flows__cancel=CANCEL.replace("Tell of", "Speak of"))
        await shop.wait_reload()
        assert (await flow.answer_question(True)).error == "already_answered"
        assert flow.failure == "The flow has changed since it asked. Please ask again from the start."
    assert shop.api.requests == ["POST /orders"], "the finished step is not repeated, the other is not done"


@pytest.mark.demand("flows.removed_plugin_performs_nothing")
@pytest.mark.parametrize("direct", [True, False])
async def test_a_removed_plugin_performs_nothing_and_says_so(tmp_path: Path, direct: bool) -> None:
    async with serve_live_plugin(tmp_path, direct=direct) as shop:
        flow, call, delegated = shop.open_client(), shop.open_client("default", "t2"), shop.open_client("default", "t3")
        await flow.send_message("p-001")
        await call.send_message("cancel p-001")
        await delegated.send_message("flow p-001")
        texts = ["p-001", await ask_openai(shop, "p-001")]
        assert "DELETE /orders/p-001" in texts[-1]
        before = list(shop.api.requests)
        shutil.rmtree(shop.folder)
        await shop.wait_reload()
        assert (await flow.answer_question(True)).status == 404
        for client in (call, delegated):
            assert (await client.answer_question(True)).error == "already_answered"
            assert client.failure == "The assistant has changed since it asked. Please ask again."
        await ask_openai(shop, *texts, "yes")
        assert shop.api.requests == before
        assert (f"{shop.folder} is gone" in shop.server.stderr) == direct

        write_plugin(shop.folder, shop.api.url)
        await shop.wait_works()


@pytest.mark.demand("plugins.mended_files_come_back")
@pytest.mark.parametrize("direct", [True, False])
async def test_files_that_break_and_are_mended_in_place_come_back(tmp_path: Path, direct: bool) -> None:
    async with serve_live_plugin(tmp_path, direct=direct) as shop:
        for key, name in (("plugin", "plugin.json"), ("openapi", "openapi.yaml"), ("flows__other", "flows/other.yaml")):
            shop.write(**{key: "{"})
            await shop.wait_fails()
            shop.write(**{key: FILES[name]})
            await shop.wait_works()
        for name in ("flows", "."):
            away = tmp_path / "away"
            (shop.folder / name).resolve().rename(away)
            await shop.wait_fails()
            away.rename((shop.folder / name).resolve())
            await shop.wait_works()
        shutil.rmtree(shop.folder)
        await shop.wait_fails()
        shop.seen_reloads = shop.count_reloads()
        shop.folder.mkdir()
        await shop.wait_reload()
        shop.write(plugin="{")
        await shop.wait_reload()
        write_plugin(shop.folder, shop.api.url)
        await shop.wait_works()
