"""What we are built of and whom we call (row 30): locks with hashes, a clean wheel, no telemetry."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.faults.protocols import PROTOCOLS
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

ROOT = Path(__file__).parents[2]
LOCKS = sorted([*(ROOT / "requirements").glob("*.txt"), *(ROOT / "tests" / "peers").glob("*/requirements.txt")])
NPM_LOCKS = sorted(
    [
        ROOT / "assets" / "package-lock.json",
        *(ROOT / "tests" / "peers").glob("*/package-lock.json"),
        *(ROOT / "examples").glob("*/package-lock.json"),
    ]
)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

# Everything in Python, so that no address is looked up or connected behind the hook's back.
WATCH_PROGRAM = """
import json, sys
sys.modules["uvloop"] = None
seen = open(sys.argv.pop(1), "a", buffering=1)
NAMES = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen"}

def hook(name, args):
    if name in NAMES:
        what = args[1] if name in ("socket.connect", "socket.sendto") else args[0]
        seen.write(json.dumps([name, repr(what)]) + "\\n")

sys.addaudithook(hook)
from rightseat.cli import main
main()
"""
LOCAL_ADDRESS = re.compile(r"\('(127\.\d+\.\d+\.\d+|::1)', \d+.*|'(127\.0\.0\.1|localhost|::1)'|b'127\.0\.0\.1'")


@pytest.mark.demand("engine.security_row_30_hash")
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: f"{lock.parent.name}-{lock.name}")
def test_every_requirement_is_pinned_with_hashes(lock: Path) -> None:
    text = lock.read_text().replace("\\\n", " ")
    wanted = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    assert wanted
    for line in wanted:
        assert re.match(r"[A-Za-z0-9._\[\]-]+==\S+", line), line[:80]
        assert "--hash=sha256:" in line, line[:80]
        assert "://" not in line, line[:80]


def test_there_are_locks() -> None:
    assert {"run.txt", "dev.txt", "docs.txt", "uv.txt", "audit.txt"} <= {lock.name for lock in LOCKS}
    wanted = [*(ROOT / "requirements").glob("*.in"), *(ROOT / "tests" / "peers").glob("*/requirements.in")]
    assert {path.with_suffix(".txt") for path in wanted} <= set(LOCKS)
    packages = [
        path for folder in ("assets", "tests/peers/*", "examples/*") for path in ROOT.glob(f"{folder}/package.json")
    ]
    assert {path.with_name("package-lock.json") for path in packages} <= set(NPM_LOCKS)


@pytest.mark.demand("engine.security_row_30_hash")
@pytest.mark.parametrize("lock", NPM_LOCKS, ids=lambda lock: lock.parent.name)
def test_every_npm_package_is_pinned_with_a_hash(lock: Path) -> None:
    packages = json.loads(lock.read_text())["packages"]
    foreign = {place: about for place, about in packages.items() if place and not about.get("link")}
    assert foreign
    for place, about in foreign.items():
        bundled = about.get("inBundle")
        assert bundled or re.fullmatch(r"sha(256|512)-[A-Za-z0-9+/]+=*", about["integrity"]), place
        assert "resolved" not in about, place


@pytest.mark.demand("security.locks_audited")
def test_the_audit_looks_at_every_lock() -> None:
    text = (ROOT / ".github" / "workflows" / "audit.yml").read_text()
    assert "pip-audit --disable-pip --require-hashes" in text
    for lock in (ROOT / "requirements").glob("*.txt"):
        assert f"-r requirements/{lock.name}" in text, lock.name
    assert "schedule:" in text


@pytest.mark.demand("security.locks_audited")
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_uses_actions_of_one_commit_and_may_only_read(workflow: Path) -> None:
    text = workflow.read_text()
    for line in re.findall(r"uses: .*", text):
        # A tag can be moved to other code.
        assert re.fullmatch(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", line), line
    assert "permissions:\n  contents: read\n" in text
    assert "://" not in text
    for line in re.findall(r".*pip install.*", text):
        assert "--require-hashes" in line


@pytest.mark.demand("engine.security_row_30_hash")
@pytest.mark.long
def test_the_wheel_holds_only_the_package(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(line, check=True, capture_output=True, timeout=5 * HANG_TIMEOUT)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    # A .pth runs at every start of Python: that is how a stolen release took over whole machines.
    # Data of the package itself; any other would be somebody's configuration.
    names.remove("rightseat/plugins/openapi/fields.toml")
    names.remove("rightseat/tools/builtin/facts.toml")
    # The public helpers for tests of applications.
    names.remove("rightseat/testing.py")
    assert not [name for name in names if name.endswith((".pth", ".so", ".pyc", ".env", ".toml"))]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"rightseat"}
    assert not [name for name in names if "test" in name.lower()]


async def record_connections(folder: Path, *args: str, config: str = "") -> list[tuple[str, str]]:
    """Whom the server called or looked up while it answered at every face."""
    record = folder / "seen"
    file = folder / "rightseat.toml"
    file.write_text(config)
    line = [sys.executable, "-c", WATCH_PROGRAM, str(record), "serve", "--port", "0", "--config", str(file), *args]
    async with RightseatProcess(command=line) as server:
        for face in PROTOCOLS:
            await face(server.url, "hello")
    return [(name, what) for name, what in map(json.loads, record.read_text().split("\n")[:-1])]


def list_foreign(connections: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, what) for name, what in connections if not LOCAL_ADDRESS.fullmatch(what)]


@pytest.mark.demand("engine.scripted_loopback_model_connection")
async def test_a_scripted_model_calls_nobody(tmp_path: Path) -> None:
    seen = await record_connections(tmp_path, "--model", "scripted:demo")
    assert list_foreign(seen) == []


@pytest.mark.demand("engine.scripted_loopback_model_connection")
@pytest.mark.long
async def test_a_loopback_model_calls_only_loopback(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        config = f'[models.default]\nspec = "openai:kit"\nbase_url = "{upstream.base_url}"\n'
        seen = await record_connections(tmp_path, config=config)
        assert len(upstream.requests) == len(PROTOCOLS)
        address = f"('127.0.0.1', {upstream.port})"
    assert list_foreign(seen) == []
    assert ("socket.connect", address) in seen


@pytest.mark.long
async def test_the_watch_sees_a_call_outside(tmp_path: Path) -> None:
    config = '[models.default]\nspec = "openai:kit"\nbase_url = "http://nohost.invalid/v1"\ntries = 1\n'
    seen = await record_connections(tmp_path, config=config)
    assert any("nohost.invalid" in what for _, what in list_foreign(seen))
