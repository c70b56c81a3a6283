"""The filter of system calls decides rightly on each architecture: its program is interpreted as the kernel does."""

import errno
import os
import platform
import struct

import pytest

from rightseat.tools.sandbox import kernel, seccomp
from rightseat.tools.sandbox.kernel import LayerUnavailable, find_number
from rightseat.tools.sandbox.seccomp import ARCHITECTURES, FilterProgram, refuse_calls

pytestmark = pytest.mark.demand("security.lib_tools_confined")
ALLOWED = 0x7FFF0000


def decide(program: list[bytes], architecture: int, number: int, *args: int) -> int:
    """Interpret the filter on one call; returns the errno, 0 if the call is allowed."""
    words = [value & 0xFFFFFFFFFFFFFFFF for value in (*args, *[0] * (6 - len(args)))]
    data = struct.pack("=iIQ6Q", number, architecture, 0, *words)
    place = accumulator = 0
    while True:
        code, jump_true, jump_false, value = struct.unpack("=HBBI", program[place])
        place += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x54:
                accumulator &= value
            case 0x15:
                place += jump_true if accumulator == value else jump_false
            case 0x35:
                place += jump_true if accumulator >= value else jump_false
            case 0x45:
                place += jump_true if accumulator & value else jump_false
            case 0x06:
                return 0 if value == ALLOWED else value & 0xFFFF
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


class Filter:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: str, *, all_rules: bool) -> None:
        self.architecture = ARCHITECTURES[machine]
        self.program: list[bytes] = []
        monkeypatch.setattr(platform, "machine", lambda: machine)
        monkeypatch.setattr(FilterProgram, "install", lambda program: self.keep(program))
        refuse_calls(signals=all_rules, metadata=all_rules, truncate=all_rules)

    def keep(self, program: FilterProgram) -> None:
        program.add(0x06, ALLOWED)
        self.program = program.instructions

    def ask(self, name: str, *args: int) -> int:
        number = find_number(name)
        assert number is not None
        return decide(self.program, self.architecture, number, *args)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("all_rules", [True, False])
def test_each_call_is_decided(monkeypatch: pytest.MonkeyPatch, machine: str, all_rules: bool) -> None:
    rules = Filter(monkeypatch, machine, all_rules=all_rules)
    extra = errno.EPERM if all_rules else 0
    own, other = os.getpid(), os.getppid()
    for name in seccomp.REFUSED_CALLS:
        assert rules.ask(name) == errno.EPERM, name
    for name in seccomp.METADATA_CALLS:
        if find_number(name) is not None:
            assert rules.ask(name) == extra, name
    assert rules.ask("clone3") == errno.ENOSYS
    assert rules.ask("clone", 0x01200011) == 0
    assert rules.ask("clone", 0x01200011 | 0x10000000) == errno.EPERM
    assert [rules.ask("socket", family) for family in (1, 2, 10, 16)] == [errno.EPERM, 0, 0, 0]
    assert [rules.ask("prlimit64", pid) for pid in (0, own, other)] == [0, 0, errno.EPERM]
    assert [rules.ask("kill", pid) for pid in (0, own, -own, other, -other, -1)] == [0, 0, 0, extra, extra, extra]
    assert [rules.ask("tgkill", pid) for pid in (own, other)] == [0, extra]
    assert rules.ask("pidfd_send_signal") == extra
    assert rules.ask("truncate") == extra
    assert rules.ask("openat", 0, 0, os.O_RDONLY | os.O_TRUNC) == extra
    assert rules.ask("openat", 0, 0, os.O_WRONLY | os.O_TRUNC) == 0
    assert rules.ask("openat", 0, 0, os.O_RDONLY) == 0
    # write, the same call for both: it has no rule.
    assert decide(rules.program, rules.architecture, {"x86_64": 1, "aarch64": 64}[machine]) == 0


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_of_another_architecture_are_refused(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    rules = Filter(monkeypatch, machine, all_rules=False)
    i386, x32 = 0x40000003, 0x40000000
    assert decide(rules.program, i386, 1) == errno.ENOSYS
    if machine == "x86_64":
        assert decide(rules.program, rules.architecture, x32 | 1) == errno.ENOSYS


def test_an_unknown_architecture_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(LayerUnavailable, match="riscv64"):
        refuse_calls(signals=True, metadata=True, truncate=True)
    assert find_number("ptrace") is None
    assert find_number("landlock_create_ruleset") == 444
    with pytest.raises(LayerUnavailable, match="not known on riscv64"):
        kernel.call_kernel("pivot_root", b".", b".")
