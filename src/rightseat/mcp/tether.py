"""Becomes another program, which ends when the process that started it does: `tether.py PARENT COMMAND ...`.

A server that does not read what it is told would not notice that nobody is there any more. Linux has a word
for it, which outlives `exec`. Run by its path, with the standard library alone: it stands before each start.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # It may be gone since before that was said.
    if os.getppid() == int(parent):
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()
