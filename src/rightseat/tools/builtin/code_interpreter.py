"""`code_interpreter`: Python that a model writes, run in a confined child; `ipython` and `python` are the same tool.

Each call has a process of its own, which reaches no network, starts no process, writes only a folder that is removed at
the end, and is killed after 60 seconds. Nothing of a call is left for the next.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
from code import InteractiveInterpreter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec import structs

from rightseat.errors import ChildDied, ConfigError
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.tools.sandbox.plan import SandboxPlan, make_plan
from rightseat.tools.subprocess import Confinement, ToolProcesses
from rightseat.tools.text_calls.builtin import builtin_schema
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, error_result

SECONDS = 60.0
MEMORY = 2 << 30
MAX_FILE = 64 << 20
MAX_OUTPUT = 20_000
CODE_NAME = "<code>"
MODULE = "rightseat.tools.builtin.code_interpreter"
DESCRIPTION = (
    "Runs Python code and returns what it prints, and the value of its last line. Nothing is kept from one call to the "
    "next. There is no network, and it may take 60 seconds."
)


def make_code_interpreter(name: str = "code_interpreter", seconds: float = SECONDS) -> Tool:
    """Make the tool; ConfigError on a machine that cannot confine the code."""
    report = probe_machine()
    # Without the filter of system calls nothing would keep it from the network.
    if not report.holds or "seccomp" not in report.layers:
        why = report.describe()
        raise ConfigError(f"{name}: this machine cannot confine code that a model writes: {why}. Leave the tool out.")
    folder = Path(__file__).resolve().parent
    plan = isolate_plan(make_plan(folder, report.layers))
    confinement = Confinement(folder=str(folder), memory=MEMORY, seconds=seconds, sandbox=plan)
    child = ToolProcesses(MODULE, "run_code", confinement, max_idle=0)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        try:
            reply = await child.call(args, seconds)
        except TimeoutError:
            yield error_result("timeout", f"The code took longer than {seconds:g} s and was stopped.")
        except ChildDied:
            yield error_result(
                "tool_failed", "The process of the code died: it used too much time or memory, or crashed."
            )
        else:
            yield error_result("tool_failed", reply.error) if reply.error else Result(reply.value, reply.failed)

    return Tool(
        name=name,
        description=DESCRIPTION,
        parameters=builtin_schema(name) or {},
        call=call,
        effect="reads",
        untrusted=True,
        close=child.close,
    )


def isolate_plan(plan: SandboxPlan) -> SandboxPlan:
    """Return the plan without sockets and processes."""
    return structs.replace(plan, alone=True)


def run_code(code: str) -> Result:
    """Run the code in this process, which is the confined child; returns what it printed as text."""
    limit_files()
    # The scratch folder: the only one that can be written.
    os.chdir(os.environ["TMPDIR"])
    printed, interpreter = BoundedText(), CellInterpreter({"__name__": "__main__"})
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            interpreter.run_cell(code)
        except SystemExit as error:
            interpreter.failed = error.code not in (None, 0)
    return Result(printed.getvalue() or "(The code printed nothing.)", interpreter.failed)


class CellInterpreter(InteractiveInterpreter):
    """Runs statements and shows the value of a last expression, as a notebook does."""

    failed = False

    def run_cell(self, code: str) -> None:
        try:
            tree = ast.parse(code, CODE_NAME)
        except (SyntaxError, ValueError):
            self.showsyntaxerror(CODE_NAME)
            return
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self.runcode(compile(tree, CODE_NAME, "exec"))
        if last is not None and not self.failed:
            self.runcode(compile(ast.Interactive([last]), CODE_NAME, "single"))

    def showtraceback(self) -> None:
        self.failed = True
        super().showtraceback()

    def showsyntaxerror(self, filename: str | None = None, **options: Any) -> None:
        self.failed = True
        super().showsyntaxerror(filename, **options)


def limit_files() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))


class BoundedText(io.StringIO):
    """Printed text that keeps its first MAX_OUTPUT characters."""

    def write(self, text: str) -> int:
        room = MAX_OUTPUT - self.tell()
        if room > 0:
            super().write(text[:room])
            if len(text) > room:
                super().write("\n… (The rest is left out.)\n")
        return len(text)
