"""`Server`: the real command line as a child process, with nothing of the caller's settings in it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kit import process
from tests.kit.timeouts import HANG_TIMEOUT

POLL_SECONDS = 0.02
FORCED_END_MESSAGE = "run failed: restarting ("
"""What it says of an answer that its own grace had to end."""
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "SYSTEMROOT")


def find_executable() -> str:
    """The command installed beside the Python that runs the tests."""
    return str(Path(sys.executable).with_name("rightseat"))


class RightseatProcess:
    """`async with Server(model="openai:x", env={...}) as server:` is ready; after it, it has exited.

    The child gets an empty home and working folder of its own, a free port, and of the environment
    only what is listed in KEPT and in `env`. `command` replaces the whole command line.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        config: str | None = None,
        command: Sequence[str] | None = None,
        start_timeout: float = HANG_TIMEOUT,
        stop_timeout: float = HANG_TIMEOUT,
        orphan_timeout: float = HANG_TIMEOUT,
        cpu_cores: set[int] | None = None,
    ) -> None:
        self._model = model
        self._args = args
        self._env = env or {}
        self._config = config
        self._command = command
        self._start_timeout = start_timeout
        self._stop_timeout = stop_timeout
        self._orphan_timeout = orphan_timeout
        self._cpu_cores = cpu_cores
        self._folder = tempfile.TemporaryDirectory(prefix="kit-server-", ignore_cleanup_errors=True)
        self._final_output: dict[str, str] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.startup_cpu_seconds = 0.0
        """CPU seconds from the start until it was ready."""

    @property
    def folder(self) -> Path:
        """The child's home and working folder."""
        return Path(self._folder.name)

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.stop()
        finally:
            self.remove_folder()

    def remove_folder(self) -> None:
        """Removes the folder; what the child said stays readable."""
        self._final_output = {name: self._read(name) for name in ("stdout", "stderr")}
        self._folder.cleanup()

    async def start(self) -> None:
        self._child = self._spawn()
        if self._cpu_cores:
            os.sched_setaffinity(self.pid, self._cpu_cores)
        async with contextlib.AsyncExitStack() as unless_ready:
            unless_ready.callback(self.remove_folder)
            unless_ready.push_async_callback(self._kill)
            await self._wait_ready()
            unless_ready.pop_all()
        self.startup_cpu_seconds = self.cpu_seconds

    def _spawn(self) -> subprocess.Popen[bytes]:
        # Files, not pipes: a child that says much must never wait for a reader.
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("wb") as err:
            return subprocess.Popen(
                self.command_line(),
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def command_line(self) -> list[str]:
        if self._command is not None:
            return list(self._command)
        line = [find_executable(), "serve", "--port", "0"]
        if self._model is not None:
            line += ["--model", self._model]
        if self._config is not None:
            file = self.folder / "rightseat.toml"
            file.write_text(self._config)
            line += ["--config", str(file)]
        return [*line, *self._args]

    def _environment(self) -> dict[str, str]:
        home = str(self.folder)
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        return {
            **inherited,
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_DATA_HOME": f"{home}/.data",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_STATE_HOME": f"{home}/.state",
            "RIGHTSEAT_READY_FILE": str(self._ready_file),
            **self._default_model_env(),
            **self._env,
        }

    def _default_model_env(self) -> dict[str, str]:
        """Where nothing names a model the demo answers: the embedded one would have to be fetched first."""
        named = self._model or self._command or "[models" in (self._config or "")
        return {} if named else {"RIGHTSEAT_MODEL": "scripted:demo"}

    @property
    def _ready_file(self) -> Path:
        return self.folder / "ready"

    async def _wait_ready(self) -> None:
        limit = time.monotonic() + self._start_timeout
        while not self._ready_file.exists():
            if self.returncode is not None:
                raise AssertionError(f"exited with {self.returncode} before it was ready\n{self._format_output()}")
            if time.monotonic() > limit:
                raise AssertionError(f"not ready within {self._start_timeout} s\n{self._format_output()}")
            await asyncio.sleep(POLL_SECONDS)
        self.url = self._ready_file.read_text().strip()

    async def stop(self) -> None:
        """SIGTERM; AssertionError when it is still there after the grace, a child of its own after `orphans`,
        or an answer until the server's own grace ended it."""
        if self._child is None:
            return
        running = self.returncode is None
        if running:
            self.send_signal(signal.SIGTERM)
        try:
            await self.wait_exit(self._stop_timeout)
            if orphans := await self._wait_session_end(within=self._orphan_timeout):
                raise AssertionError(f"children outlived the server: {orphans}")
            if running and "grace" not in (self._config or "") and FORCED_END_MESSAGE in self.stderr:
                raise AssertionError(f"an answer did not end with its client\n{self._format_output()}")
        except AssertionError:
            await self._kill()
            raise

    async def _wait_session_end(self, within: float) -> list[int]:
        limit = time.monotonic() + within
        while True:
            pids = process.list_session(self.pid)
            if not pids or time.monotonic() > limit:
                return pids
            await asyncio.sleep(POLL_SECONDS)

    async def wait_exit(self, within: float = HANG_TIMEOUT) -> int:
        """The exit status, once it has exited by itself or by a signal of the test."""
        limit = time.monotonic() + within
        while (status := self.returncode) is None:
            if time.monotonic() > limit:
                raise AssertionError(f"still running after {within} s\n{self._format_output()}")
            await asyncio.sleep(POLL_SECONDS)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        self._child.send_signal(number)

    async def _kill(self) -> None:
        # The session is the child's own, so this ends its descendants and nothing else.
        for member in process.list_session(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        await self.wait_exit()
        await self._wait_session_end(within=HANG_TIMEOUT)

    def _format_output(self) -> str:
        return f"--- stdout\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-4000:]}"

    @property
    def pid(self) -> int:
        assert self._child is not None, "not started"
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        assert self._child is not None, "not started"
        return self._child.poll()

    @property
    def stdout(self) -> str:
        return self._read("stdout")

    @property
    def stderr(self) -> str:
        return self._read("stderr")

    @property
    def log_lines(self) -> list[str]:
        """What it said beside one line for each request."""
        return [line for line in self.stderr.splitlines() if " rightseat.access " not in line]

    def _read(self, name: str) -> str:
        file = self.folder / name
        return file.read_text(errors="replace") if file.exists() else self._final_output.get(name, "")

    @property
    def cpu_seconds(self) -> float:
        return process.measure_cpu_seconds(self.pid)

    @property
    def rss_bytes(self) -> int:
        return process.measure_rss_bytes(self.pid)

    @property
    def open_files(self) -> list[str]:
        return process.list_open_files(self.pid)

    @property
    def socket_count(self) -> int:
        return sum(target.startswith("socket:") for target in self.open_files)

    @property
    def thread_count(self) -> int:
        return process.count_threads(self.pid)

    @property
    def child_pids(self) -> list[int]:
        return process.list_tree(self.pid)[1:]
