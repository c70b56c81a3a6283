"""Child process that probes a chat template (`python -m` this module).

A template is a program that came with a download. It first runs here, with limits on CPU time and memory, and
its capabilities are detected. If the parent gets no result, it does not use the template.
"""

from __future__ import annotations

import datetime
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
from jinja2.exceptions import SecurityError
from msgspec import Struct

from rightseat.models.llamacpp.abilities import Abilities, Unusable, probe
from rightseat.models.llamacpp.sandbox import FAILURES, Sandbox, TooMuch

CPU_SECONDS = 1.0
EXTRA_MEMORY = 128 << 20


class Question(Struct, frozen=True):
    source: str
    bos: str
    eos: str


class Verdict(Struct, frozen=True):
    """Capabilities of the template, or the reason why it is refused."""

    abilities: Abilities | None = None
    refused: str = ""


def confine() -> None:
    """Limit CPU time and memory of this process to what a chat template needs."""
    if sys.platform == "win32":
        return
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        now = pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        now = 256 << 20
    resource.setrlimit(resource.RLIMIT_AS, (now + EXTRA_MEMORY, now + EXTRA_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Unlike RLIMIT_CPU the timer has sub-second resolution; its signal kills the process at any point.
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)


def judge(question: Question) -> Verdict:
    sandbox = Sandbox(lambda: datetime.datetime(2026, 1, 2, 3, 4, 5))
    try:
        template = sandbox.compiled(question.source)

        def render(turns: list[dict[str, Any]], **more: Any) -> str:
            values = variables(turns, question.bos, question.eos, datetime.datetime(2026, 1, 2), **more)
            return sandbox.rendered(template, values, CPU_SECONDS)

        return Verdict(abilities=probe(render))
    except Unusable:
        return Verdict(refused="it does not show the model what the user says")
    except TooMuch as error:
        return Verdict(refused=f"it wants {error.message}")
    except SecurityError:
        return Verdict(refused="it reaches for what a template must not have")
    except MemoryError:
        return Verdict(refused="it wants more memory than a chat template needs")
    except FAILURES as error:
        return Verdict(refused=f"it is not valid ({type(error).__name__})")


def variables(
    turns: list[dict[str, Any]], bos: str, eos: str, now: datetime.datetime, **more: Any
) -> dict[str, Any]:
    """Return all variables that chat templates use."""
    return {
        "messages": turns,
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "bos_token": bos,
        "eos_token": eos,
        "date_string": now.strftime("%d %b %Y"),
        "todays_date": now.strftime("%Y-%m-%d"),
        "cutting_knowledge_date": "December 2023",
        **more,
    }


def main() -> None:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    confine()
    sys.stdout.buffer.write(msgspec.json.encode(judge(question)))


if __name__ == "__main__":
    main()
