"""Drives the `llm` command-line tool: `drive_llm.py URL ...`, then one `CASE MODE` per line of stdin.

Each case is one or more calls of the command as a person types them, in a folder of settings of its own; what
is printed are the exit code and what stood on the screen. MODE is `stream`, which is its default, or `whole`.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

LLM = str(Path(sys.executable).with_name("llm"))
FUNCTIONS = """
def locate(detail: str) -> str:
    "Say where the person is."
    return "Oslo"
"""
MODEL = """
- model_id: {id}
  model_name: {name}
  api_base: "{url}/v1"
  api_key_name: here
  supports_tools: true
  supports_schema: true
  vision: true
"""
MODELS = {"seat": "default", "plain": "plain", "faulty": "faulty", "lost": "nobody"}
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
)
CASES: dict[str, list[list[str]]] = {
    "text": [["-m", "seat", "hello"]],
    "held": [["-m", "plain", "hold"]],
    "system": [["-m", "plain", "-s", "Be brief.", "-o", "temperature", "0.5", "-o", "seed", "3", "raw"]],
    "schema": [["-m", "seat", "--schema", SCHEMA, "person"]],
    "tool": [["-m", "seat", "--functions", FUNCTIONS, "where am i"]],
    "talk": [["-m", "seat", "question"], ["-m", "seat", "-c", "Ada"]],
    "usage": [["-m", "seat", "-u", "hello"]],
    "wrong_key": [["-m", "seat", "--key", "wrong", "hello"]],
    "no_such_model": [["-m", "lost", "hello"]],
    "error_midway": [["-m", "faulty", "fault-error-midway"]],
}


def run(arguments: list[str], settings: str, mode: str) -> dict[str, Any]:
    env = {"PATH": os.environ["PATH"], "LLM_USER_PATH": settings, "HOME": settings, "NO_COLOR": "1"}
    line = [LLM, "prompt", *arguments, *(["--no-stream"] if mode == "whole" else [])]
    # With anything on its input the command waits for the rest of the prompt there.
    with subprocess.Popen(line, env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = os.read(process.stdout.fileno(), 4096)
        if "hold" in arguments:
            # The rest comes when somebody asks for it, and that is after the first words were on the screen. Of two
            # commands that write to their log at once, one fails.
            run(["-m", "plain", "--no-log", "release"], settings, mode)
        spoken = (first + process.stdout.read()).decode()
        said = process.stderr.read().decode()
    return {"code": process.returncode, "out": spoken, "err": said, "first": first.decode()}


def main(url: str, *_: str) -> None:
    with tempfile.TemporaryDirectory() as settings:
        models = "".join(MODEL.format(id=id, name=name, url=url) for id, name in MODELS.items())
        Path(settings, "extra-openai-models.yaml").write_text(models, encoding="utf-8")
        Path(settings, "keys.json").write_text('{"here": "ada-key"}', encoding="utf-8")
        print(json.dumps({"version": version("llm")}), flush=True)
        while line := sys.stdin.readline():
            case, mode = line.split()
            turns = [run(arguments, settings, mode) for arguments in CASES[case]]
            print(json.dumps({"turns": turns}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
