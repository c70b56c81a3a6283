"""Fuzzer: coverage-guided search for inputs on which a parser breaks a property, takes too long or too much memory."""

import hashlib
import mmap
import random
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType

from tests.fuzz.parsers.byte_mutations import ByteMutator
from tests.fuzz.parsers.edge_coverage import EdgeCoverage
from tests.fuzz.parsers.target import ParserTarget, PropertyViolated
from tests.kit.loop_meter import measure_slowness

HANG_CPU_SECONDS = 20.0
"""CPU seconds on a machine of slowness 1 after which an input counts as endless and is ended."""
MAX_GROWTH_BYTES = 64 << 20
GROWTH_PER_BYTE = 300
MAX_FAULTS = 20
MAX_ENTRY_BYTES = 4_000
"""Longer inputs are tried, but not kept to be mutated further."""
INFLATE_SHARE, OWN_MUTATION_SHARE, NEWEST_SHARE, CHECK_SHARE = 0.01, 0.5, 0.3, 0.2
NEWEST = 20
MINIMISE_TRIES = 400


class EndlessInput(BaseException):
    """The parser did not come to an end. No `except Exception` of the parser may take it."""


@dataclass(frozen=True)
class Fault:
    """One input that a parser does not stand; two with the same `key` have the same cause."""

    key: str
    problem: str
    data: bytes

    @property
    def file_name(self) -> str:
        return hashlib.sha256(self.data).hexdigest()[:16]


class Outcome:
    """Context that keeps the exception of its block, whatever it is."""

    error: BaseException | None = None

    def __enter__(self) -> "Outcome":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self.error = error
        return error is not None and not isinstance(error, KeyboardInterrupt | SystemExit)


@contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """Raise EndlessInput in the block after so many CPU seconds. Other threads than the main one have no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, raise_endless)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def raise_endless(number: int, frame: FrameType | None) -> None:
    raise EndlessInput


def read_peak_bytes() -> int:
    """Return the most memory that this process has had; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_bytes()
    except OSError:
        return 0
    _, found, rest = status.partition(b"VmHWM:")
    return int(rest.split()[0]) * 1024 if found else 0


def make_fault(error: BaseException, data: bytes) -> Fault:
    """Return the fault of an exception; its key is the type and the innermost frame."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    if isinstance(error, PropertyViolated):
        key = str(error).partition("\n")[0]
    elif isinstance(error, EndlessInput):
        key = "endless"
    else:
        key = f"{type(error).__name__} in {place}"
    # Without its context, which is of the run before this one.
    shown = traceback.format_exception(type(error), error, error.__traceback__, limit=-12, chain=False)
    return Fault(key, "".join(shown)[-4000:], data)


@dataclass
class Fuzzer:
    """One campaign over a target. The same seed gives the same inputs, as far as caches of the parser allow."""

    target: ParserTarget
    seed: int
    current: "CurrentInput | None" = None
    faults: dict[str, Fault] = field(default_factory=dict)
    entries: list[bytes] = field(default_factory=list)
    runs: int = 0
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.target.name} {self.seed}")
        self._coverage = EdgeCoverage(self.target.traced)
        self._seen: set[tuple[int, int]] = set()
        self._mutator = ByteMutator(self._rng, self.target.words, self.entries)
        self._slowness = max(1.0, measure_slowness())
        self._peak = 0

    @property
    def edge_count(self) -> int:
        return len({edge for edge, _ in self._seen})

    def run(self, seeds: Sequence[bytes], seconds: float, max_runs: int | None = None) -> None:
        """Run the seeds, then mutants for so many seconds, or until there are too many faults."""
        for data in seeds:
            self.try_input(data, keep=True)
        # What a parser takes once, at its first inputs, is no growth.
        self._peak = read_peak_bytes()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and len(self.faults) < MAX_FAULTS and (max_runs is None or self.runs < max_runs):
            if self._rng.random() < INFLATE_SHARE:
                self.check_input(self._mutator.inflate(self._choose_entry(), self._choose_size()))
            else:
                self.try_input(self._make_mutant())

    def _choose_entry(self) -> bytes:
        newest = self._rng.random() < NEWEST_SHARE
        return self._rng.choice(self.entries[-NEWEST:] if newest else self.entries) if self.entries else b""

    def _choose_size(self) -> int:
        return self._rng.choice((1_000, 10_000, self.target.max_bytes))

    def _make_mutant(self) -> bytes:
        data = self._choose_entry()
        own = self.target.mutate(self._rng, data) if self._rng.random() < OWN_MUTATION_SHARE else None
        return self._mutator.mutate(data) if own is None else own

    def try_input(self, data: bytes, *, keep: bool = False) -> None:
        """Parse one input with coverage. One that takes a new way is checked, and kept to be mutated further."""
        with self._watch(data) as outcome:
            self._coverage.record(lambda: self.target.parse(data))
        edges = self._coverage.get_edges()
        is_new = keep or not edges <= self._seen
        self._seen |= edges
        if outcome.error is not None:
            return
        if is_new and (keep or len(data) <= MAX_ENTRY_BYTES):
            self.entries.append(data)
        if is_new or self._rng.random() < CHECK_SHARE:
            self.check_input(data)

    def check_input(self, data: bytes) -> None:
        """Check all properties of one input, without coverage."""
        with self._watch(data):
            self.target.check(data)

    @contextmanager
    def _watch(self, data: bytes) -> Iterator[Outcome]:
        """Note a fault of the block: an exception, too much time, too much memory."""
        self.runs += 1
        if self.current is not None:
            self.current.write(data)
        started = time.process_time()
        with Outcome() as outcome, limit_cpu(HANG_CPU_SECONDS * self._slowness):
            yield outcome
        if outcome.error is not None:
            self._note(make_fault(outcome.error, data))
            return
        if time.process_time() - started > self._get_limit(data):
            self._check_time(data)
        self._check_memory(data)

    def _get_limit(self, data: bytes) -> float:
        return (self.target.base_seconds + self.target.seconds_per_byte * len(data)) * self._slowness

    def _check_time(self, data: bytes) -> None:
        """Measure again without coverage; the best of three counts."""
        best = min(self.measure(data) for _ in range(3))
        self.slowest = max(self.slowest, best)
        if best > self._get_limit(data):
            problem = f"{len(data)} bytes took {best:.2f} s of CPU; at most {self._get_limit(data):.2f} s are allowed"
            self._note(Fault("slow", problem, data))

    def measure(self, data: bytes) -> float:
        started = time.process_time()
        with Outcome(), limit_cpu(HANG_CPU_SECONDS * self._slowness):
            self.target.check(data)
        return time.process_time() - started

    def _check_memory(self, data: bytes) -> None:
        peak = read_peak_bytes()
        growth = peak - self._peak
        if self._peak and growth > MAX_GROWTH_BYTES + GROWTH_PER_BYTE * len(data):
            self._note(Fault("memory", f"{len(data)} bytes took {growth >> 20} MB of memory", data))
        # Slow growth by the corpus itself is not counted.
        self._peak = peak if self._peak else 0

    def _note(self, fault: Fault) -> None:
        if fault.key not in self.faults:
            # Before it is made smaller: that may end the process.
            self.faults[fault.key] = fault
            self.faults[fault.key] = self.minimise(fault)

    def minimise(self, fault: Fault) -> Fault:
        """Return the same fault with a smaller input, where removing parts keeps it."""
        if fault.key in ("slow", "memory", "endless"):
            return fault
        size, tries = max(1, len(fault.data) // 2), 0
        while size and tries < MINIMISE_TRIES:
            start, shorter = 0, False
            while start < len(fault.data) and tries < MINIMISE_TRIES:
                tries += 1
                smaller = self._find_fault(fault.data[:start] + fault.data[start + size :])
                if smaller is not None and smaller.key == fault.key:
                    fault, shorter = smaller, True
                else:
                    start += size
            size = size if shorter and size == 1 else size // 2
        return fault

    def _find_fault(self, data: bytes) -> Fault | None:
        with Outcome() as outcome, limit_cpu(HANG_CPU_SECONDS * self._slowness):
            self.target.parse(data)
            self.target.check(data)
        return None if outcome.error is None else make_fault(outcome.error, data)


class CurrentInput:
    """File with the input that is tried now: it outlives a process that is killed or crashes."""

    def __init__(self, path: Path, size: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(8 + size))
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 8 + size)
        self._size = size

    def write(self, data: bytes) -> None:
        kept = data[: self._size]
        self._map[:8] = len(kept).to_bytes(8, "little")
        self._map[8 : 8 + len(kept)] = kept

    def close(self) -> None:
        self._map.close()
        self._file.close()


def read_current(path: Path) -> bytes:
    """Return the input in the file of a CurrentInput."""
    data = path.read_bytes()
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def read_corpus(folder: Path) -> dict[str, bytes]:
    """Return the inputs of a folder by file name."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file()}
