"""`make recording`: the first commands of a new user, really run in a terminal, as docs/img/first-run.svg.

`rightseat serve` runs in an empty folder of an empty home, with the embedded model; then, in a second terminal, a curl
line and `rightseat doctor`. What they print is drawn as it is, except that the home's path is written as `~`.
"""

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from rightseat.models.llamacpp import weights
from tests.kit.server import find_executable
from tests.kit.timeouts import HANG_TIMEOUT

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "img" / "first-run.svg"
COLUMNS, ROWS = 108, 60
READY_LINE = "Ctrl-C stops."
GOOD_VERDICT = "Everything works."
INHERITED_VARIABLES = ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE")
START_TIMEOUT = 120.0
THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 138),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
# Rich's own form, less the font that it fetches.
SVG_FORM = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{unique_id}-about">
<title id="{unique_id}-about">A terminal with the first commands: rightseat serve, curl, rightseat doctor</title>
<style>
.{unique_id}-matrix {{
  font: {char_height}px/{line_height}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
.{unique_id}-title {{ font: bold 18px system-ui, sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """One command line and what it printed, with the terminal's colours."""

    line: str
    output: str


class TerminalProcess:
    """A command in a terminal of its own, as a person at a keyboard has it."""

    def __init__(self, line: str, folder: Path, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            ("sh", "-c", line),
            cwd=folder,
            env=dict(env),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.output = ""

    def read_until(self, words: str | None, timeout: float) -> str:
        """Read until a line has these words, or to the end where there are none; raises TimeoutError."""
        deadline = time.monotonic() + timeout
        while words is None or words not in self.output:
            readable, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise TimeoutError(f"no {words!r} within {timeout:.0f} s; so far:\n{self.output}")
            try:
                data = os.read(self._master, 65536)
            except OSError:  # Linux says so when the last process has closed the terminal.
                data = b""
            if not data:
                break
            self.output += data.decode(errors="replace")
        return self.output

    def stop(self) -> None:
        """End it as Ctrl-C does, and close the terminal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(HANG_TIMEOUT)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            os.close(self._master)


def run_command(line: str, folder: Path, env: Mapping[str, str], timeout: float = START_TIMEOUT) -> RecordedCommand:
    """Run a command to its end."""
    terminal = TerminalProcess(line, folder, env)
    try:
        return RecordedCommand(line, terminal.read_until(None, timeout))
    finally:
        terminal.stop()


@contextlib.contextmanager
def run_server(line: str, folder: Path, env: Mapping[str, str]) -> Iterator[RecordedCommand]:
    """Run a server; yields what it has printed when it is ready."""
    terminal = TerminalProcess(line, folder, env)
    try:
        output = terminal.read_until(READY_LINE, START_TIMEOUT)
        if READY_LINE not in output:
            raise RuntimeError(f"the server ended:\n{output}")
        yield RecordedCommand(line, output)
    finally:
        terminal.stop()


def build_environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a new user: no settings, and the command on the path."""
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    path = os.pathsep.join([str(Path(find_executable()).parent), os.environ.get("PATH", "")])
    return {**inherited, "HOME": str(home), "PATH": path, "TERM": "xterm-256color", **more}


def record_session(home: Path, env: Mapping[str, str], port: int | None = None) -> list[RecordedCommand]:
    """Run the commands in an empty folder of the home; `port` is another one than the default."""
    folder = home / "my-copilot"
    folder.mkdir()
    option = f" --port {port}" if port else ""
    url = f"http://127.0.0.1:{port or 7777}"
    body = """'{"messages": [{"role": "user", "content": "What time is it?"}]}'"""
    question = f"curl -s {url}/v1/chat/completions \\\n    -d {body}"
    with run_server(f"rightseat serve{option}", folder, env) as server:
        answer = run_command(f"""{question} | grep -o '"content":"[^"]*"'""", folder, env)
        report = run_command("rightseat doctor | grep -E 'GET|POST|works|broken'", folder, env)
    return [RecordedCommand(command.line, hide_home(command.output, home)) for command in (server, answer, report)]


def hide_home(output: str, home: Path) -> str:
    for path in {str(home.resolve()), str(home)}:
        output = output.replace(path, "~")
    return output


def list_lines(command: RecordedCommand) -> list[Text]:
    """Return the lines of a command's output, without empty ones at its end."""
    text = Text.from_ansi(command.output.replace("\r\n", "\n").strip("\n"))
    return list(text.split("\n", allow_blank=True))


def draw_recording(commands: list[RecordedCommand]) -> str:
    """Return the SVG of a session: the first command in one terminal, the others in a second one."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    for number, command in enumerate(commands):
        if number:
            console.print()
        if number == 1:
            console.rule(Text("a second terminal", "dim"), style="dim")
            console.print()
        console.print(Text.assemble(("$ ", "bold green"), (command.line, "bold")))
        for line in list_lines(command):
            console.print(line)
    # Rich draws the last line without room below it.
    console.print()
    svg = console.export_svg(title="rightseat", theme=THEME, code_format=SVG_FORM, unique_id="t")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


def main() -> int:
    source = weights.pull_weights()
    with tempfile.TemporaryDirectory(prefix="recording-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        target = home / ".cache" / "rightseat" / source.relative_to(weights.cache_folder())
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
        commands = record_session(home, build_environment(home))
    if GOOD_VERDICT not in commands[-1].output:
        print(f"docs/img/first-run.svg stays as it is: doctor says\n{commands[-1].output}", file=sys.stderr)
        return 1
    PICTURE.write_text(draw_recording(commands), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
