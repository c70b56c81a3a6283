"""Each layer of the sandbox holds alone where the machine has it, and old kernels are helped by the others."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from rightseat.errors import ChildDied
from rightseat.tools.sandbox import machine
from rightseat.tools.sandbox.landlock import SCOPE_VERSION, TRUNCATE_VERSION, get_landlock_version
from rightseat.tools.sandbox.machine import SandboxReport, probe_machine, run_probe
from rightseat.tools.sandbox.plan import FIRST_USER_ID, Layer, SandboxPlan, add_scratch, make_plan, remove_scratch
from rightseat.tools.sandbox.probe import ProbeOutcome
from rightseat.tools.subprocess import Confinement, ToolProcesses
from tests.kit import limited_kernel

pytestmark = [
    pytest.mark.io,
    pytest.mark.demand("security.lib_tools_confined"),
    pytest.mark.skipif(sys.platform != "linux", reason="the layers are calls of the Linux kernel"),
]
SERVER_MEMORY = {"the server's environment", "the server's memory"}
FILES = {"other files", "other folders", "writing other files", "new files elsewhere"}
TRACING, SIGNALS, EMPTYING, MODES = (
    *("tracing the server", "signals to the server", "emptying other files", "modes of other files"),
)


def find_open(*layers: Layer) -> set[str]:
    """The attacks that succeed in these layers; skips where the machine does not have them."""
    outcome = run_probe(layers)
    assert isinstance(outcome, ProbeOutcome), outcome
    if outcome.layer is not None:
        pytest.skip(f"this machine does not have the layer {outcome.layer}: {outcome.why}")
    assert outcome.broken == ""
    return set(outcome.open)


def test_landlock_alone_closes_files_and_the_server() -> None:
    found = find_open("landlock")
    closed = SERVER_MEMORY | FILES | {TRACING}
    closed |= {EMPTYING} if get_landlock_version() >= TRUNCATE_VERSION else set()
    closed |= {SIGNALS} if get_landlock_version() >= SCOPE_VERSION else set()
    assert not found & closed


def test_a_namespace_alone_closes_files_and_the_processes_folder() -> None:
    assert not find_open("namespace") & (SERVER_MEMORY | FILES | {EMPTYING, MODES})


def test_seccomp_alone_closes_tracing_signals_and_metadata() -> None:
    assert not find_open("seccomp") & {TRACING, SIGNALS, EMPTYING, MODES}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process another user")
def test_a_user_of_its_own_closes_signals_and_the_servers_files() -> None:
    outcome = run_probe(("uid",))
    # Python may be in a folder of root's own: then a namespace shows it to the user.
    layers: tuple[Layer, ...] = ("uid",) if getattr(outcome, "layer", "") is None else ("namespace", "uid")
    closed = {SIGNALS, TRACING, EMPTYING, MODES, "writing other files", "new files elsewhere"} | SERVER_MEMORY
    assert not find_open(*layers) & closed


@pytest.mark.skipif(get_landlock_version() == 0, reason="this kernel or container has no Landlock")
@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_seccomp_closes_what_older_versions_of_landlock_leave_open(tmp_path: Path, version: int) -> None:
    """The rules that each version knows, on a kernel that knows more."""
    if version > get_landlock_version():
        pytest.skip(f"this kernel has version {get_landlock_version()}")
    targets = tmp_path / "targets"
    targets.mkdir()
    (targets / "target.txt").write_text("target")
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "own.txt").write_text("own")
    plan = add_scratch(make_plan(folder, ("landlock", "seccomp")))
    script = f"""
import os, sys, msgspec
from pathlib import Path
from rightseat.tools.sandbox import enter, landlock, probe
from rightseat.tools.sandbox.plan import SandboxPlan
landlock.get_landlock_version = enter.get_landlock_version = lambda: {version}
plan = msgspec.json.decode(sys.argv[1], type=SandboxPlan)
outcome = probe.probe_sandbox(plan, Path(sys.argv[2]))
assert (outcome.layer, outcome.broken) == (None, ""), outcome
tried = list(outcome.open)
try:
    os.open(plan.folder + "/own.txt", os.O_RDONLY | os.O_TRUNC)
    tried.append("emptying its own code")
except PermissionError:
    pass
Path(plan.folder, "own.txt").read_text()
Path(plan.scratch, "a").write_text("a" * 10)
Path(plan.scratch, "a").write_text("b")
print(msgspec.json.encode(tried).decode())
"""
    try:
        command = [sys.executable, "-c", script, encode_plan(plan), str(targets)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    finally:
        remove_scratch(plan)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def encode_plan(plan: SandboxPlan) -> str:
    import msgspec

    return msgspec.json.encode(plan).decode()


PROTECTED = """
import os, sys
from rightseat.tools.sandbox.identity import close_process_memory
from rightseat.tools.sandbox.kernel import PR_SET_DUMPABLE, set_process_option
if os.geteuid() == 0:
    # Capabilities of root open every process.
    os.setgroups([]); os.setresgid(64999, 64999, 64999); os.setresuid(64999, 64999, 64999)
set_process_option(PR_SET_DUMPABLE, 1)
if sys.argv[1] == "closed":
    assert close_process_memory()
server = os.getpid()
child = os.fork()
if child == 0:
    # As after exec, which makes a process readable again.
    set_process_option(PR_SET_DUMPABLE, 1)
    try:
        open(f"/proc/{server}/environ", "rb").read()
        open(f"/proc/{server}/mem", "rb").close()
        os._exit(10)
    except PermissionError:
        os._exit(20)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(("state", "code"), [("open", 10), ("closed", 20)])
def test_the_servers_memory_is_closed_to_its_own_user(state: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROTECTED, state], capture_output=True, check=False)
    if state == "open" and done.returncode == 20:
        pytest.skip("this kernel closes memory to every process of the same user (ptrace_scope)")
    assert done.returncode == code, done.stderr


async def test_a_child_that_cannot_enter_runs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("from pathlib import Path\ndef f():\n    return 'ran'\n")
    plan = replace(make_plan(tmp_path, ("namespace",)), folder="/no/such/folder")
    children = ToolProcesses("lib.a", "f", Confinement(folder=str(tmp_path), memory=1 << 30, seconds=60, sandbox=plan))
    with pytest.raises(ChildDied):
        await children.call({})
    await children.close()
    assert children.launches == {}


async def test_the_scratch_folder_goes_with_its_process(tmp_path: Path) -> None:
    if not probe_machine().holds:
        pytest.skip(f"this machine cannot confine a process: {probe_machine().describe()}")
    (tmp_path / "lib").mkdir()
    code = "import os\ndef f():\n    open(os.environ['TMPDIR'] + '/a', 'w').close()\n    return os.environ['TMPDIR']\n"
    (tmp_path / "lib" / "a.py").write_text(code)
    plan = make_plan(tmp_path, probe_machine().layers)
    children = ToolProcesses("lib.a", "f", Confinement(folder=str(tmp_path), memory=1 << 30, seconds=60, sandbox=plan))
    scratch = Path((await children.call({})).value)
    assert (scratch / "a").exists()
    assert Path((await children.call({})).value) == scratch, "a process is used again"
    await children.close()
    assert not scratch.parent.exists()


def test_a_report_names_what_is_missing_and_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SandboxReport(layers=("seccomp",), missing={"landlock": "no Landlock"}, open=("other files",))
    assert not report.holds
    assert report.describe() == "by a seccomp filter; without landlock (no Landlock); still open: other files"
    monkeypatch.setattr(machine, "is_linux", lambda: False)
    probe_machine.cache_clear()
    try:
        assert not probe_machine().holds
        assert "has no means to confine a process" in probe_machine().describe()
    finally:
        probe_machine.cache_clear()


def test_a_layer_in_which_tools_cannot_work_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(layers: tuple[Layer, ...]) -> ProbeOutcome:
        return ProbeOutcome(broken="/x: No such file" if "namespace" in layers else "")

    monkeypatch.setattr(machine, "run_probe", answer)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    probe_machine.cache_clear()
    try:
        report = probe_machine()
        assert report.layers == ("landlock", "seccomp")
        assert report.missing["namespace"] == "tools cannot work in it: /x: No such file"
        assert report.missing["uid"] == "the server is not root"
        monkeypatch.setattr(machine, "run_probe", lambda layers: "the probe did not end")
        probe_machine.cache_clear()
        assert probe_machine().describe() == "the probe did not end"
    finally:
        probe_machine.cache_clear()


@pytest.mark.skipif(get_landlock_version() == 0, reason="this kernel or container has no Landlock")
def test_a_filter_that_kills_costs_the_layer_and_not_the_probe() -> None:
    """As under a service manager that kills processes for calls it does not allow."""
    script = "from rightseat.tools.sandbox.machine import probe_machine as p; r = p(); print(r.holds, r.describe())"
    command = limited_kernel.wrap_command([sys.executable, "-c", script], ("!unshare", "!ptrace"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True by "), done
    assert "Landlock" in done.stdout
    assert "namespace (a filter of system calls killed the process that entered it)" in done.stdout


def test_without_a_temporary_folder_nothing_is_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose whole file system is read-only."""

    def refuse(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    assert run_probe(("seccomp",)) == "no folder for temporary files can be made: Read-only file system"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process another user")
def test_a_plugin_that_only_root_can_read_keeps_its_user(tmp_path: Path) -> None:
    folder, more = tmp_path / "kit", tmp_path / "more.txt"
    folder.mkdir(mode=0o755)
    for file in (folder / "a.py", more):
        file.touch()
        file.chmod(0o644)
    layers: tuple[Layer, ...] = ("namespace", "uid", "landlock")
    plan = make_plan(folder, layers, (str(more),))
    if "uid" not in plan.layers:
        pytest.skip(f"other users cannot read Python in {sys.prefix}")
    assert plan.uid >= FIRST_USER_ID
    for file in (folder / "a.py", more):
        file.chmod(0o600)
        assert make_plan(folder, layers, (str(more),)).layers == ("namespace", "landlock")
        file.chmod(0o644)
