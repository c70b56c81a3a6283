"""Exec a command that is killed when its parent ends: arguments are PARENT_PID COMMAND ...

A server that does not read its stdin would not notice that its parent has ended. Linux's PR_SET_PDEATHSIG
survives `exec`. This file is run by its path and imports the standard library only, because it delays each
start.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have ended before the prctl call.
    if os.getppid() == int(parent):
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()
