"""The process with OpenBB's own library: its models as judge, its test harness as reader of streams."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.peers.client_runner import find_command
from tests.peers.prerequisites import require

Validate = Callable[..., dict[str, Any]]


@contextmanager
def start_driver(record_driven: Callable[[str, str], None]) -> Iterator[Validate]:
    """Start the process; gives the function that sends one order and returns its answer."""
    require("openbb-ai")
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    with subprocess.Popen(
        find_command("openbb-ai"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        record_driven("openbb-ai", json.loads(child.stdout.readline())["version"])

        def validate(do: str, **more: Any) -> dict[str, Any]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps({"do": do, **more}) + "\n")
            child.stdin.flush()
            found: dict[str, Any] = json.loads(child.stdout.readline())
            return found

        yield validate
        child.stdin.close()
