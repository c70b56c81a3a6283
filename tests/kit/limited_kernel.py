"""A kernel that lacks system calls: `python limited_kernel.py CALL,!CALL COMMAND…` runs a command on it.

Containers and older kernels are so: the calls answer ENOSYS, by a filter that all children inherit. With `!` before
its name a call kills the process, as the filters of service managers do.
"""

import errno
import os
import platform
import sys
from collections.abc import Sequence

from rightseat.tools.sandbox.identity import forbid_new_privileges
from rightseat.tools.sandbox.kernel import find_number
from rightseat.tools.sandbox.seccomp import ARCHITECTURES, FilterProgram

JUMP_EQUAL, RETURN, KILL_PROCESS = 0x15, 0x06, 0x80000000


class LimitingProgram(FilterProgram):
    def kill(self, name: str) -> None:
        number = find_number(name)
        assert number is not None
        self.add(JUMP_EQUAL, number, 0, 1)
        self.add(RETURN, KILL_PROCESS)


def wrap_command(command: Sequence[str], missing_calls: Sequence[str]) -> list[str]:
    return [sys.executable, __file__, ",".join(missing_calls), *command]


def remove_calls(names: Sequence[str]) -> None:
    """Make these calls fail in this process and its children."""
    program = LimitingProgram()
    program.check_architecture(ARCHITECTURES[platform.machine().lower()])
    for name in names:
        if name.startswith("!"):
            program.kill(name[1:])
        else:
            program.refuse(name, errno.ENOSYS)
    forbid_new_privileges()
    program.install()


if __name__ == "__main__":
    remove_calls(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
