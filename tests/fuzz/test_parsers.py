"""The parsers of strangers' bytes, with every input of the corpus, and the fuzzer itself.

`make test` runs the corpus, `make test-all` also searches for new faults, 20 seconds for each parser.
"""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.parsers import __main__ as command
from tests.fuzz.parsers.byte_mutations import MUTATIONS, ByteMutator
from tests.fuzz.parsers.edge_coverage import EdgeCoverage
from tests.fuzz.parsers.fuzzer import CurrentInput, Fault, Fuzzer, read_corpus, read_current
from tests.fuzz.parsers.target import ParserTarget, iter_splits, mutate_json, require
from tests.fuzz.parsers.targets import TARGETS

MAX_CORPUS_BYTES = 300_000
over_parsers = pytest.mark.parametrize("name", TARGETS)


@pytest.mark.demand("security.parsers_fuzzed")
@pytest.mark.io
@over_parsers
def test_every_input_of_the_corpus_is_handled(name: str) -> None:
    inputs = read_corpus(command.CORPUS / name)
    assert inputs
    with TARGETS[name]() as target:
        fuzzer = Fuzzer(target, 1)
        for data in inputs.values():
            target.parse(data)
            fuzzer.check_input(data)
    assert not fuzzer.faults, next(iter(fuzzer.faults.values()))


@pytest.mark.demand("security.parsers_fuzzed")
def test_the_corpus_is_small_and_has_a_folder_for_each_parser() -> None:
    files = [path for path in command.CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_CORPUS_BYTES
    assert {path.parent.name for path in files} == set(TARGETS)


@pytest.mark.demand("security.parsers_fuzzed")
@pytest.mark.io
@over_parsers
def test_mutants_are_handled(name: str) -> None:
    """A few of each parser, with coverage as in a campaign."""
    inputs = list(read_corpus(command.CORPUS / name).values())
    with TARGETS[name]() as target:
        fuzzer = Fuzzer(target, 1)
        fuzzer.run(sorted(inputs, key=len)[:3], 60, max_runs=30)
    assert not fuzzer.faults, next(iter(fuzzer.faults.values()))
    assert fuzzer.edge_count > 10


class FaultyParser(ParserTarget):
    """Crashes at `{{`, loops at `[[[`, takes too much memory at `(((`, and forgets what stands after a `;`."""

    name = "faulty"
    traced = ("http/sse.py",)
    words = (b"{{", b"(((")
    base_seconds = 0.005
    seconds_per_byte = 0.0

    def parse(self, data: bytes) -> None:
        if b"{{" in data:
            raise KeyError("x")

    def check(self, data: bytes) -> None:
        self.parse(data)
        require(b";" not in data, "something is forgotten", data)
        if b"[[[" in data:
            sum(range(3_000_000))
        if b"(((" in data:
            self.taken = bytearray(b"x") * (128 << 20)


@pytest.mark.demand("security.parsers_fuzzed")
@pytest.mark.parametrize(
    ("data", "key", "smallest"),
    [
        (b"abc{{def", "KeyError in test_parsers.py:parse", b"{{"),
        (b"ab;cd", "something is forgotten", b";"),
        (b"ab[[[", "slow", b"ab[[["),
    ],
)
def test_a_fault_is_seen_and_made_smaller(data: bytes, key: str, smallest: bytes) -> None:
    fuzzer = Fuzzer(FaultyParser(), 1)
    fuzzer.run([data], 0)
    assert {fault.key: fault.data for fault in fuzzer.faults.values()} == {key: smallest}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory it gave")
def test_memory_is_seen() -> None:
    fuzzer = Fuzzer(FaultyParser(), 1)
    fuzzer.run([b"a"], 0)
    fuzzer.check_input(b"(((")
    assert "memory" in fuzzer.faults


def test_an_endless_input_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.parsers.fuzzer.HANG_CPU_SECONDS", 0.05)

    class EndlessParser(FaultyParser):
        def parse(self, data: bytes) -> None:
            while True:
                data = data[:1]

    fuzzer = Fuzzer(EndlessParser(), 1)
    fuzzer.run([b"a"], 0)
    assert list(fuzzer.faults) == ["endless"]


def test_mutants_are_the_same_for_the_same_seed() -> None:
    def make_mutants(seed: int) -> list[bytes]:
        mutator = ByteMutator(random.Random(seed), (b"word",), [b"other entry"])
        return [*(mutator.mutate(b"an input") for _ in range(50)), mutator.inflate(b"an input", 5_000)]

    assert make_mutants(1) == make_mutants(1) != make_mutants(2)
    assert 4_000 < len(make_mutants(1)[-1]) < 6_000
    mutator = ByteMutator(random.Random(1), (), [])
    assert all(isinstance(mutation(mutator, b""), bytes) for mutation in MUTATIONS)


def test_coverage_tells_two_ways_apart() -> None:
    from rightseat.http.sse import SseParser

    coverage = EdgeCoverage(("http/sse.py",))
    one = coverage.record(lambda: SseParser().feed(b"data: a\n\n"))
    two = coverage.record(lambda: SseParser().feed(b"data: a\r\n\r\n"))
    assert one
    assert one == coverage.record(lambda: SseParser().feed(b"data: b\n\n"))
    assert not two <= one


def test_splits_give_the_text_again() -> None:
    for text in ("", "abc", "é" * 3_000):
        assert all("".join(pieces) == text for pieces in iter_splits(text))
    assert mutate_json(random.Random(1), b"no JSON") is None


def test_the_input_of_a_killed_process_is_known(tmp_path: Path) -> None:
    current = CurrentInput(tmp_path / "current", 10)
    current.write(b"a long input")
    current.write(b"ab")
    assert read_current(tmp_path / "current") == b"ab"
    current.close()


def test_a_report_has_the_command_that_shows_the_fault_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "SAVED", tmp_path / "build" / "fuzz")
    monkeypatch.setattr(command, "CORPUS", tmp_path / "corpus")
    fault = Fault("KeyError", "Traceback", b"{{")
    assert command.report_faults("sse", [fault], 7) == 1
    shown = capsys.readouterr().out
    assert f"python -m tests.fuzz.parsers sse --input build/fuzz/sse/{fault.file_name}" in shown
    assert "python -m tests.fuzz.parsers sse --seed 7" in shown
    assert (tmp_path / "build" / "fuzz" / "sse" / fault.file_name).read_bytes() == b"{{"
    assert command.report_faults("sse", [], 7) == 0


@pytest.mark.io
def test_the_command_runs_one_input() -> None:
    path = command.CORPUS / "gguf" / "empty"
    arguments = ["-m", "tests.fuzz.parsers", "gguf", "--input", str(path)]
    assert subprocess.run([sys.executable, *arguments], cwd=command.ROOT, timeout=60).returncode == 0


def test_the_command_names_the_parsers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["unknown"])
    shown = capsys.readouterr().err
    assert all(name in shown for name in TARGETS)
