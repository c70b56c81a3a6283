"""`python -m tests.fuzz.parsers [PARSER…] [--seconds N] [--inputs N] [--seed N] [--input FILE]`: fuzz parsers, or run
one input.

Without a name all parsers are fuzzed, each in a process of its own, as many at a time as there are cores. Inputs with
faults are saved in build/fuzz/PARSER.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.parsers.fuzzer import CurrentInput, Fault, Fuzzer, read_corpus, read_current
from tests.fuzz.parsers.targets import TARGETS

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
SAVED = ROOT / "build" / "fuzz"
MODULE = "tests.fuzz.parsers"
MAX_ADDRESS_SPACE = 8 << 30
"""Bytes beyond which an allocation fails: an input must not take the whole machine."""
GRACE_SECONDS = 600.0
"""Seconds that a campaign may last beyond its time before it counts as stuck: seeds, the last input, making smaller."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description="Fuzz parsers of strangers' bytes.")
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each parser")
    parser.add_argument(
        "--inputs", type=int, default=None, help="the most inputs for each parser; else all of the time"
    )
    parser.add_argument("--seed", type=int, default=None, help="a number; the same one gives the same inputs")
    parser.add_argument("--input", type=Path, help="run this one file instead")
    options = parser.parse_args(arguments)
    unknown = set(options.parsers) - set(TARGETS)
    if unknown or (options.input and len(options.parsers) != 1):
        parser.error(f"name {'one' if options.input else 'some'} of {', '.join(TARGETS)}")
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    if options.input:
        return run_file(options.parsers[0], options.input)
    if len(options.parsers) == 1:
        return fuzz_parser(options.parsers[0], options.seconds, options.inputs, seed)
    return fuzz_all(options.parsers or list(TARGETS), options.seconds, options.inputs, seed)


def run_file(name: str, path: Path) -> int:
    """Run one input without coverage; a fault shows its traceback."""
    with TARGETS[name]() as target:
        fuzzer = Fuzzer(target, 0)
        fuzzer.check_input(path.read_bytes())
    return report_faults(name, list(fuzzer.faults.values()), None)


def fuzz_parser(name: str, seconds: float, inputs: int | None, seed: int) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with TARGETS[name]() as target:
        current = CurrentInput(SAVED / f"{name}.current", 2 * target.max_bytes)
        fuzzer = Fuzzer(target, seed, current)
        try:
            fuzzer.run(list(read_corpus(CORPUS / name).values()), seconds, inputs)
        finally:
            current.close()
    print(
        f"{name}: seed {seed}, {fuzzer.runs:,} inputs, {fuzzer.edge_count:,} edges, {len(fuzzer.entries)} kept, "
        f"{len(fuzzer.faults)} faults",
        flush=True,
    )
    return report_faults(name, list(fuzzer.faults.values()), seed)


def report_faults(name: str, faults: Sequence[Fault], seed: int | None) -> int:
    """Print the faults, and save their inputs where a campaign with a seed found them; return the exit code."""
    for fault in faults:
        print(f"{name}: {fault.key}: {fault.data[:300]!r}\n{fault.problem}")
        if seed is not None:
            print_command(name, save_input(name, fault.file_name, fault.data), seed)
    return 1 if faults else 0


def save_input(name: str, file_name: str, data: bytes) -> Path:
    path = SAVED / name / file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def print_command(name: str, path: Path, seed: int) -> None:
    where = path.relative_to(ROOT)
    print(f"To see it again: python -m {MODULE} {name} --input {where}")
    print(f"To search in the same way: python -m {MODULE} {name} --seed {seed}")
    print(f"When it is mended: mv {where} {(CORPUS / name).relative_to(ROOT)}/NAME\n", flush=True)


def fuzz_all(names: Sequence[str], seconds: float, inputs: int | None, seed: int) -> int:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(lambda name: fuzz_in_child(name, seconds, inputs, seed), names))
    return max(codes)


def fuzz_in_child(name: str, seconds: float, inputs: int | None, seed: int) -> int:
    command = [sys.executable, "-m", MODULE, name, "--seconds", str(seconds), "--seed", str(seed)]
    if inputs is not None:
        command += ["--inputs", str(inputs)]
    try:
        code = subprocess.run(command, cwd=ROOT, timeout=seconds + GRACE_SECONDS).returncode
    except subprocess.TimeoutExpired:
        code = -1
    if code not in (0, 1):
        print(f"{name}: the process was ended ({code}), seed {seed}. The input that it was at:")
        print_command(name, save_input(name, f"ended-{seed}", read_current(SAVED / f"{name}.current")), seed)
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
