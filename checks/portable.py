"""The package on this system, whichever it is: `python3 checks/portable.py`. Runs on the bare interpreter.

Installs the locked packages and the wheel of this tree into a new environment, then uses it as a person would, from an
empty folder: version, server, page, an answer, doctor; and what the system has not must be refused in a sentence.
Exit code 1: a step failed. Exit code 3: it could not be installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from checks.packages import COULD_NOT_INSTALL, ROOT, InstallError, run_with_retries

START_TIMEOUT = 120.0
WINDOWS_REFUSAL = "Several workers need Unix sockets"
# What an installer and an interpreter need on each system; nothing of the caller's settings of rightseat.
DROPPED_PREFIXES = ("RIGHTSEAT_", "OPENAI_", "PYTHON")


class StepFailed(Exception):
    """Says which step failed and what was seen."""


def make_environment(folder: Path) -> Path:
    """Install the locked packages and the wheel of this tree; returns the folder of the programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    pip = (str(programs / "python"), "-m", "pip", "install", "--quiet")
    run_with_retries((*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")))
    os.environ["RIGHTSEAT_WITHOUT_PAGES"] = "1"
    run_with_retries((*pip, "--no-deps", "--no-build-isolation", "--no-index", str(ROOT)))
    return programs


def run(command: list[str], folder: Path, env: Mapping[str, str], code: int = 0) -> str:
    """Run a command in a folder; returns what it says. Raises StepFailed for another exit code."""
    done = subprocess.run(
        command, cwd=folder, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=START_TIMEOUT
    )
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode != code:
        raise StepFailed(f"{' '.join(command[1:])}: exit {done.returncode}\n{said}")
    return said


@contextmanager
def start_server(command: str, folder: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Serve the scripted demo on a free port; yields the URL."""
    ready = folder / "ready"
    line = [command, "serve", "--port", "0", "--model", "scripted:demo"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            line, cwd=folder, env={**env, "RIGHTSEAT_READY_FILE": str(ready)}, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + START_TIMEOUT
        while not ready.exists():
            if server.poll() is not None or time.monotonic() > end:
                said = (folder / "server.log").read_text(encoding="utf-8", errors="replace")
                raise StepFailed(f"serve: it is not ready, exit {server.poll()}\n{said}")
            time.sleep(0.1)
        yield ready.read_text(encoding="utf-8").strip()
    finally:
        server.terminate()
        server.wait(START_TIMEOUT)


def ask(url: str) -> str:
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=START_TIMEOUT) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def check_server(command: str, folder: Path, env: Mapping[str, str]) -> None:
    with start_server(command, folder, env) as url:
        for path in ("/", "/playground/main.js", "/openapi.json", "/docs/errors"):
            with urllib.request.urlopen(url + path, timeout=START_TIMEOUT) as response:
                if not response.read():
                    raise StepFailed(f"GET {path}: nothing came")
        print("ok   serve: page, OpenAPI document, error pages")
        answer = ask(url)
        if "demo" not in answer:
            raise StepFailed(f"an answer: {answer!r}")
        print("ok   an answer over /v1")
        run([command, "doctor", "--url", url], folder, env)
        print("ok   doctor")


def check_refusals(command: str, folder: Path, env: Mapping[str, str]) -> None:
    """What this system has not is refused in a sentence."""
    if sys.platform == "win32":
        said = run([command, "serve", "--port", "0", "--workers", "2", "--model", "scripted:demo"], folder, env, code=1)
        if WINDOWS_REFUSAL not in said:
            raise StepFailed(f"serve --workers 2: no clear refusal\n{said}")
        print("ok   --workers 2 is refused in a sentence")


def check_system(scratch: Path) -> None:
    programs = make_environment(scratch / "venv")
    folder = scratch / "elsewhere"
    folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED_PREFIXES)}
    env |= {"HOME": str(folder), "USERPROFILE": str(folder), "LOCALAPPDATA": str(folder), "PYTHONUTF8": "1"}
    command = str(programs / "rightseat")
    print(
        "ok  ", run([command, "--version"], folder, env).strip(), "on", sys.platform, "Python", sys.version.split()[0]
    )
    check_server(command, folder, env)
    check_refusals(command, folder, env)


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(prog="portable.py", description=__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        try:
            check_system(Path(scratch))
        except StepFailed as error:
            print(f"RED  {error}")
            return 1
        except InstallError as error:
            print(f"could not install: {error}", file=sys.stderr)
            return COULD_NOT_INSTALL
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
