"""`code_interpreter`: what a model's code prints, and what it cannot reach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rightseat.errors import ConfigError
from rightseat.tools.builtin import code_interpreter
from rightseat.tools.builtin.code_interpreter import make_code_interpreter
from rightseat.tools.sandbox.machine import SandboxReport, probe_machine
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import Turn

pytestmark = [
    pytest.mark.io,
    pytest.mark.skipif(not probe_machine().holds, reason="this machine cannot confine a process"),
]


@pytest_asyncio.fixture
async def interpreter() -> AsyncIterator[Tool]:
    tool = make_code_interpreter()
    yield tool
    assert tool.close is not None
    await tool.close()


async def run(tool: Tool, code: str) -> Result:
    assert tool.call is not None
    results = [item async for item in tool.call({"code": code}, ToolContext(Turn(messages=())))]
    [result] = results
    assert isinstance(result, Result)
    return result


@pytest.mark.demand("tools.code_interpreter")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("15315 * 3 / 55", "835.3636363636364\n"),
        ("import math\nfor n in range(3):\n    print(n)\nmath.factorial(5)", "0\n1\n2\n120\n"),
        ("x = 1", "(The code printed nothing.)"),
        ("import sys\nprint('a', file=sys.stderr)\nNone", "a\n"),
        (
            "import threading\nt = threading.Thread(target=print, args=('in a thread',))\nt.start()\nt.join()",
            "in a thread\n",
        ),
        ("open('a.txt', 'w').write('kept')\nprint(open('a.txt').read())", "kept\n"),
        ("def f(n):\n    return n and f(n - 1)\nf(9)", "0\n"),
        ("raise SystemExit", "(The code printed nothing.)"),
    ],
)
async def test_what_it_prints_comes_back(code: str, text: str, interpreter: Tool) -> None:
    result = await run(interpreter, code)
    assert (result.content, result.failed) == (text, False)


async def test_mistakes_are_told(interpreter: Tool) -> None:
    result = await run(interpreter, "print('before')\n1 / 0\nprint('after')")
    assert result.failed
    assert result.content.startswith("before\nTraceback (most recent call last):\n")
    assert result.content.endswith("ZeroDivisionError: division by zero\n")
    assert "code_interpreter.py" not in result.content
    assert (await run(interpreter, "1 +")).content.endswith("SyntaxError: invalid syntax\n")
    assert (await run(interpreter, "import sys; sys.exit(3)")).failed
    long = await run(interpreter, "print('x' * 10**6)")
    assert len(long.content) < 25_000
    assert "The rest is left out" in long.content


ATTACKS = {
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
    "datagrams": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "process": "import subprocess\nprint(subprocess.run(['/bin/ls', '/'], capture_output=True))",
    "fork": "import os\nprint(os.fork())",
    "other files": "print(open({secret!r}).read())",
    "accounts": "print(open('/etc/shadow').read())",
    "writing": "open({place!r}, 'w').write('x')",
    "package": "import rightseat\nopen(rightseat.__file__, 'a')",
    "environment": "import os\nprint(os.environ['RIGHTSEAT_TEST_KEY'])",
    "server": "import os\nos.kill(os.getppid(), 9)",
}


@pytest.mark.demand("tools.code_interpreter")
@pytest.mark.parametrize("name", ATTACKS)
async def test_it_reaches_nothing(
    name: str, interpreter: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTSEAT_TEST_KEY", "s3cret")
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    code = ATTACKS[name].replace("{secret!r}", repr(str(secret))).replace("{place!r}", repr(str(tmp_path / "new")))
    result = await run(interpreter, code)
    assert result.failed
    assert "s3cret" not in result.content
    assert not (tmp_path / "new").exists()
    assert (await run(interpreter, "1 + 1")).content == "2\n"


async def test_the_fence_around_sockets_and_processes_is_the_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the same code in a sandbox that is not `alone` opens a socket and starts a process."""
    monkeypatch.setattr(code_interpreter, "isolate_plan", lambda plan: plan)
    tool = make_code_interpreter()
    try:
        assert (await run(tool, ATTACKS["datagrams"])).failed is False
        assert (await run(tool, "import os\nif not os.fork():\n    os._exit(0)\nos.wait()[1]")).content == "0\n"
    finally:
        assert tool.close is not None
        await tool.close()


@pytest.mark.demand("tools.code_interpreter")
async def test_nothing_is_left_for_the_next_call(interpreter: Tool) -> None:
    await run(interpreter, "import builtins\nbuiltins.leaked = 1\nopen('left.txt', 'w').close()")
    assert (await run(interpreter, "leaked")).failed
    assert (await run(interpreter, "import os\nos.listdir()")).content == "[]\n"


@pytest.mark.demand("tools.code_interpreter")
async def test_code_that_takes_too_long_is_stopped() -> None:
    tool = make_code_interpreter(seconds=0.5)
    try:
        for code in ("import time\ntime.sleep(60)", "while True: pass"):
            result = await run(tool, code)
            assert result.failed
            assert "took longer than 0.5 s" in result.text or "died" in result.text
    finally:
        assert tool.close is not None
        await tool.close()


async def test_memory_is_bounded(interpreter: Tool) -> None:
    result = await run(interpreter, "x = bytearray(8 << 30)")
    assert result.failed
    assert "MemoryError" in result.text


def test_a_machine_that_cannot_confine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_interpreter, "probe_machine", lambda: SandboxReport(problem="no kernel for it"))
    with pytest.raises(ConfigError, match=r"ipython: this machine cannot confine code .* no kernel for it"):
        make_code_interpreter("ipython")
