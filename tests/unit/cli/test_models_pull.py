"""`rightseat models pull` of any model, against a hub of our own that speaks the real wire."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.models.llamacpp import curated, download
from rightseat.models.llamacpp.curated import CuratedModel
from tests.kit.answers import UpstreamReply
from tests.kit.command import CommandResult, run_command
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.hub import FakeHub, send_file, send_status
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_tensor_info, make_usual_entries

pytestmark = pytest.mark.io

GGUF = make_gguf(*make_usual_entries(), tensors=[make_tensor_info("w", [64_000])], data=bytes(range(256)) * 1000)
REPO = "acme/Tiny-GGUF"
FILE = "Tiny-Q4_K_M.gguf"
SOURCE = f"hf:{REPO}/{FILE}"
CURATED = CuratedModel(
    "tiny", REPO, FILE, size=len(GGUF), sha256=hashlib.sha256(GGUF).hexdigest(), licence="MIT", state_bytes=1000
)


def spawn_command(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rightseat", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def finish(process: subprocess.Popen[str]) -> CommandResult:
    out, err = await asyncio.to_thread(process.communicate, timeout=HANG_TIMEOUT)
    return CommandResult(process.returncode, out, err)


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeHub]:
    async with FakeHub() as hub:
        hub.files[f"{REPO}/{FILE}"] = GGUF
        monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.setattr(download, "FIRST_DELAY", 0.001)
        yield hub


def list_files(tmp_path: Path) -> dict[str, int]:
    """What lies in the cache, but for locks."""
    paths = (tmp_path / "cache").rglob("*")
    return {path.name: path.stat().st_size for path in paths if path.is_file() and path.suffix != ".lock"}


def read_record(result: CommandResult) -> str:
    return (result.path.parent / "source.json").read_text()


def get_partial(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models" / "pulled" / "Tiny-Q4_K_M" / "partial"


async def leave_partial(hub: FakeHub, tmp_path: Path, size: int = 1000) -> None:
    """A pull that was cut, and whose hub then was not there any more."""
    hub.store.queue_replies(hub.cut(size), send_status(404))
    assert (await run_command("models", "pull", SOURCE)).code == 1
    assert get_partial(tmp_path).stat().st_size == size
    hub.store.requests.clear()
    hub.site.requests.clear()


@pytest.mark.demand("llamacpp.pull_named_or_any_model", "llamacpp.pull_verifies_checksum")
async def test_a_model_of_the_list_by_its_name(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curated, "CURATED_MODELS", (CURATED,))
    result = await run_command("models", "pull", "tiny")
    assert (result.content, result.path.name) == (GGUF, "tiny.gguf")
    assert "Fetching tiny" in result.err
    assert "rightseat models use tiny" in result.err
    again = await run_command("models", "pull", "tiny")
    assert again.out == result.out
    assert "Fetching" not in again.err
    assert len(hub.site.requests) == 1


@pytest.mark.demand("llamacpp.pull_named_or_any_model")
async def test_a_file_of_the_hub_and_what_is_kept(hub: FakeHub, tmp_path: Path) -> None:
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert result.content == GGUF
    assert list_files(tmp_path).keys() == {"Tiny-Q4_K_M.gguf", "source.json"}
    kept = json.loads(read_record(result))
    assert kept["source"] == SOURCE
    assert kept["sha256"] == CURATED.sha256
    [request] = hub.site.requests
    assert request.target == f"/{REPO}/resolve/main/{FILE}"
    assert (await run_command("models", "path", "Tiny-Q4_K_M")).out == result.out


@pytest.mark.demand("llamacpp.pull_named_or_any_model")
@pytest.mark.parametrize("form", ["{hub}/{repo}/resolve/v2/{file}?download=true", "{hub}/{repo}/blob/v2/{file}"])
async def test_an_address_of_the_hub(hub: FakeHub, form: str) -> None:
    result = await run_command("models", "pull", form.format(hub=hub.endpoint, repo=REPO, file=FILE))
    assert result.code == 0, result.err
    assert hub.site.requests[0].target.partition("?")[0] == f"/{REPO}/resolve/v2/{FILE}"
    assert (await run_command("models", "pull", f"hf:{REPO}@v2/{FILE}")).out == result.out


@pytest.mark.demand("llamacpp.pull_named_or_any_model")
async def test_any_address_and_a_name_of_ones_own(hub: FakeHub) -> None:
    hub.store.queue_replies(send_file(GGUF))
    result = await run_command("models", "pull", f"{hub.store.origin}/any/x.gguf?key=hush", "--name", "mine")
    assert result.code == 0, result.err
    assert result.path.name == "mine.gguf"
    assert "hush" not in read_record(result)
    other = await run_command("models", "pull", SOURCE, "--name", "mine")
    assert other.code == 1
    assert "rightseat models remove mine" in other.err


async def test_a_renamed_repository_is_followed(hub: FakeHub) -> None:
    hub.renamed["old/name"] = REPO
    assert (await run_command("models", "pull", f"hf:old/name/{FILE}")).code == 0


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_a_cut_is_gone_on_with_at_once(hub: FakeHub) -> None:
    hub.store.queue_replies(*(hub.cut(10_000) for _ in range(8)))
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert result.content == GGUF
    assert [request.headers.get("range") for request in hub.store.requests[:3]] == [
        None,
        "bytes=10000-",
        "bytes=20000-",
    ]


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_the_next_pull_goes_on_where_the_last_ended(hub: FakeHub, tmp_path: Path) -> None:
    await leave_partial(hub, tmp_path)
    listed = await run_command("models", "list")
    assert "not whole" in listed.out
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert [request.headers["range"] for request in hub.store.requests] == ["bytes=1000-"]
    assert result.content == GGUF


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_a_file_that_has_changed_meanwhile_begins_anew(hub: FakeHub, tmp_path: Path) -> None:
    await leave_partial(hub, tmp_path)
    changed = hub.files[f"{REPO}/{FILE}"] = make_gguf(*make_usual_entries(), data=b"new" * 1000)
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert "range" not in hub.store.requests[0].headers
    assert result.content == changed


@pytest.mark.demand("llamacpp.pull_resumes")
@pytest.mark.parametrize(("etag", "resumed"), [('"e1"', True), ('"e2"', False), ('W/"e1"', False)])
async def test_without_a_checksum_the_etag_decides(hub: FakeHub, etag: str, resumed: bool) -> None:
    address = f"{hub.store.origin}/x.gguf"
    first = etag if etag.startswith("W") else '"e1"'
    hub.store.queue_replies(send_file(GGUF, etag=first, cut_after=1000), send_status(404))
    assert (await run_command("models", "pull", address)).code == 1
    hub.store.queue_replies(send_file(GGUF, etag=etag))
    result = await run_command("models", "pull", address)
    assert result.code == 0, result.err
    assert result.content == GGUF
    sent = hub.store.requests[-1]
    assert (sent.headers.get("if-range"), sent.bytes_sent < len(GGUF)) == (
        None if first.startswith("W") else '"e1"',
        resumed,
    )


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_a_server_without_ranges_sends_all_again(hub: FakeHub, tmp_path: Path) -> None:
    await leave_partial(hub, tmp_path)
    hub.store.queue_replies(send_file(GGUF, ranges=False))
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert result.content == GGUF


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_a_server_that_always_cuts_and_has_no_ranges_is_given_up(hub: FakeHub) -> None:
    hub.store.reply = send_file(GGUF, ranges=False, cut_after=5000)
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 1
    assert "closed the connection" in result.err
    assert len(hub.store.requests) == 2 * download.TRIES


@pytest.mark.demand("llamacpp.pull_resumes")
@pytest.mark.parametrize("surplus", [b"", b"more"])
async def test_a_partial_file_that_is_whole_or_too_long(hub: FakeHub, tmp_path: Path, surplus: bytes) -> None:
    await leave_partial(hub, tmp_path)
    get_partial(tmp_path).write_bytes(GGUF + surplus)
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert result.content == GGUF
    assert len(hub.store.requests) == (2 if surplus else 1)


@pytest.mark.demand("llamacpp.pull_resumes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_keeps_what_has_come(hub: FakeHub, tmp_path: Path, number: signal.Signals) -> None:
    released = asyncio.Event()

    async def stall(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, {"Content-Length": str(len(GGUF)), "ETag": '"e1"'})
        await connection.write(GGUF[:1000])
        await released.wait()

    hub.store.queue_replies(stall)
    process = spawn_command("models", "pull", SOURCE)
    try:
        await wait_until(lambda: get_partial(tmp_path).exists() and get_partial(tmp_path).stat().st_size == 1000)
        process.send_signal(number)
        result = await finish(process)
    finally:
        released.set()
        process.kill()
    assert result.code == 130
    assert "same command" in result.err
    assert "Traceback" not in result.err
    assert get_partial(tmp_path).read_bytes() == GGUF[:1000]
    assert (await run_command("models", "pull", SOURCE)).code == 0
    assert hub.store.requests[-1].headers["range"] == "bytes=1000-"


async def test_slow_bytes_come_whole(hub: FakeHub) -> None:
    hub.store.queue_replies(send_file(GGUF[:4000], slowly=True))
    result = await run_command("models", "pull", f"{hub.store.origin}/slow.gguf")
    assert result.code == 1
    assert "not copied whole" in result.err, "without a checksum the header tells that tensors are missing"
    hub.store.queue_replies(send_file(GGUF, slowly=True))
    assert (await run_command("models", "pull", f"{hub.store.origin}/slow.gguf")).code == 0


@pytest.mark.demand("llamacpp.pull_resumes")
async def test_two_pulls_at_once_fetch_once(hub: FakeHub) -> None:
    first, second = spawn_command("models", "pull", SOURCE), spawn_command("models", "pull", SOURCE)
    one, other = await asyncio.gather(finish(first), finish(second))
    assert (one.code, other.code) == (0, 0), one.err + other.err
    assert one.out == other.out
    assert len(hub.store.requests) == 1


@pytest.mark.demand("llamacpp.pull_verifies_checksum")
async def test_another_checksum_than_the_hubs_is_not_kept(hub: FakeHub, tmp_path: Path) -> None:
    hub.stated_sha256 = "0" * 64
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 1
    assert "checksum" in result.err
    assert "deleted" in result.err
    assert "Tiny-Q4_K_M.gguf" not in list_files(tmp_path)
    assert "partial" not in list_files(tmp_path)


@pytest.mark.demand("llamacpp.pull_verifies_checksum")
async def test_a_mirror_that_states_nothing_cannot_replace_a_pinned_file(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curated, "CURATED_MODELS", (CURATED,))
    hub.site.queue_replies(send_file(GGUF[:-1] + b"!"))
    result = await run_command("models", "pull", "tiny")
    assert "checksum" in result.err
    assert list_files(tmp_path) == {}
    hub.site.queue_replies(send_file(GGUF))
    assert (await run_command("models", "pull", "tiny")).content == GGUF


@pytest.mark.demand("llamacpp.pull_verifies_checksum")
async def test_a_hub_with_another_file_than_the_pinned_one(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curated, "CURATED_MODELS", (CURATED,))
    hub.files[f"{REPO}/{FILE}"] = GGUF + b"!"
    result = await run_command("models", "pull", "tiny")
    assert result.code == 1
    assert f"rightseat models pull {SOURCE}" in result.err
    assert hub.store.requests == []


@pytest.mark.demand("llamacpp.pull_verifies_checksum")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (send_file(GGUF[:-1]), "another size"),
        (send_file(b"GGML" + GGUF[4:]), "not a GGUF file"),
        (send_status(200, {"Content-Type": "text/html"}, b"<!doctype html>"), "a web page"),
        (send_status(200, {"Content-Type": "application/json"}, b'{"error": "x"}'), "JSON"),
        (send_file(b"version https://git-lfs.github.com/spec/v1\n".ljust(len(GGUF))), "not a GGUF file"),
    ],
)
async def test_something_else_than_the_file(hub: FakeHub, tmp_path: Path, reply: UpstreamReply, said: str) -> None:
    hub.store.queue_replies(reply)
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 1
    assert said in result.err
    assert "partial" not in list_files(tmp_path)


@pytest.mark.demand("llamacpp.pull_token_stays_with_hub")
async def test_the_token_goes_to_the_hub_and_nowhere_else(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated[REPO] = "hf_sesame_open"
    monkeypatch.setenv("HF_TOKEN", "hf_sesame_open\n")
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 0, result.err
    assert [request.headers.get("authorization") for request in hub.site.requests] == ["Bearer hf_sesame_open"]
    assert all("authorization" not in request.headers for request in hub.store.requests)
    hub.store.queue_replies(send_file(GGUF))
    assert (await run_command("models", "pull", f"{hub.store.origin}/other.gguf")).code == 0
    assert "authorization" not in hub.store.requests[-1].headers


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
@pytest.mark.parametrize(
    ("source", "token", "said"),
    [
        (SOURCE, "", ("accept", f"/{REPO}", "HF_TOKEN")),
        (SOURCE, "hf_wrong", ("HF_TOKEN", "accept")),
        (f"hf:nobody/Nothing/{FILE}", "", ("nobody/Nothing", "private", "HF_TOKEN")),
        ("hf:open/Repo/Tiny-Q4.gguf", "", ("Did you mean", "hf:open/Repo/tiny-q4_0.gguf")),
        ("hf:open/Repo", "", ("hf:open/Repo/tiny-q4_0.gguf", "hf:open/Repo/tiny-q8_0.gguf")),
        ("hf:open/Repo/big-00001-of-00003.gguf", "", ("3 parts",)),
        ("hf:open/Repo/README.md", "", (".gguf",)),
        ("open/Repo/tiny-q4_0.gguf", "", ("hf:open/Repo/tiny-q4_0.gguf",)),
        ("qwen3-4", "", ("Did you mean 'qwen3-4b'",)),
        ("ftp://x.test/a.gguf", "", ("http",)),
    ],
)
async def test_what_cannot_be_fetched(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, source: str, token: str, said: tuple[str, ...]
) -> None:
    hub.gated[REPO] = "hf_right"
    hub.files["open/Repo/tiny-q4_0.gguf"] = hub.files["open/Repo/tiny-q8_0.gguf"] = GGUF
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    result = await run_command("models", "pull", source)
    assert result.code == 1
    assert result.err.count("error: ") == 1
    for words in said:
        assert words in result.err
    assert "hf_wrong" not in result.err
    assert hub.store.requests == []


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_a_busy_hub_is_asked_again_or_says_when(hub: FakeHub) -> None:
    hub.site.queue_replies(send_status(429, {"Retry-After": "0"}), send_status(503), send_status(502))
    assert (await run_command("models", "pull", SOURCE)).code == 0
    hub.site.queue_replies(send_status(429, {"Retry-After": "300"}))
    result = await run_command("models", "pull", SOURCE, "--name", "again")
    assert result.code == 1
    assert "300 s" in result.err
    hub.site.queue_replies(*(send_status(500) for _ in range(download.TRIES)))
    result = await run_command("models", "pull", SOURCE, "--name", "again")
    assert result.code == 1
    assert "later" in result.err


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_a_token_that_is_not_one(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    hub.site.queue_replies(send_status(401, {}, b"Invalid credentials in Authorization header"))
    result = await run_command("models", "pull", SOURCE)
    assert "HF_TOKEN is wrong" in result.err
    assert "hf_expired" not in result.err


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_an_expired_signature_is_asked_for_anew(hub: FakeHub) -> None:
    hub.store.queue_replies(send_status(403))
    assert (await run_command("models", "pull", SOURCE)).code == 0
    assert len(hub.site.requests) == 2


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_without_a_network(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 1
    for words in ("127.0.0.1", "HF_ENDPOINT", "--model FILE.gguf"):
        assert words in result.err
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    assert "HF_ENDPOINT" in (await run_command("models", "pull", SOURCE)).err


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_a_silent_server(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "IDLE_TIMEOUT", 0.05)
    released = asyncio.Event()

    async def stall(connection: Connection, request: ReceivedRequest) -> None:
        await released.wait()

    hub.store.queue_replies(*[stall] * download.TRIES)
    result = await run_command("models", "pull", SOURCE)
    released.set()
    assert result.code == 1
    assert "sent nothing" in result.err


@pytest.mark.demand("llamacpp.pull_errors_say_next_step")
async def test_a_full_disk_is_seen_before(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    result = await run_command("models", "pull", SOURCE)
    assert result.code == 1
    assert "RIGHTSEAT_CACHE" in result.err
    assert "partial" not in list_files(tmp_path)


@pytest.mark.parametrize(("location", "said"), [("/x", "redirects more than"), ("http://[", "not an address")])
async def test_a_redirect_without_end_and_one_to_nowhere(hub: FakeHub, location: str, said: str) -> None:
    hub.site.queue_replies(*(send_status(302, {"Location": location}) for _ in range(9)))
    assert said in (await run_command("models", "pull", SOURCE)).err
