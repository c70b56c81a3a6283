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

from rightseat.models.llamacpp.abilities import TemplateCapabilities, UnusableTemplate, probe_capabilities
from rightseat.models.llamacpp.sandbox import TEMPLATE_ERRORS, TemplateLimitExceeded, TemplateSandbox

CPU_SECONDS = 1.0
EXTRA_MEMORY = 128 << 20


class ProbeRequest(Struct, frozen=True):
    source: str
    bos: str
    eos: str


class ProbeResult(Struct, frozen=True):
    """Capabilities of the template, or the reason why it is refused."""

    abilities: TemplateCapabilities | None = None
    refused: str = ""


def limit_resources() -> None:
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


def probe_template(request: ProbeRequest) -> ProbeResult:
    sandbox = TemplateSandbox(lambda: datetime.datetime(2026, 1, 2, 3, 4, 5))
    try:
        template = sandbox.compile_template(request.source)

        def render(turns: list[dict[str, Any]], **more: Any) -> str:
            values = make_template_variables(
                turns, request.bos, request.eos, datetime.datetime(2026, 1, 2), **more
            )
            return sandbox.render_template(template, values, CPU_SECONDS)

        return ProbeResult(abilities=probe_capabilities(render))
    except UnusableTemplate:
        return ProbeResult(refused="it does not show the model what the user says")
    except TemplateLimitExceeded as error:
        return ProbeResult(refused=f"it wants {error.message}")
    except SecurityError:
        return ProbeResult(refused="it reaches for what a template must not have")
    except MemoryError:
        return ProbeResult(refused="it wants more memory than a chat template needs")
    except TEMPLATE_ERRORS as error:
        return ProbeResult(refused=f"it is not valid ({type(error).__name__})")


def make_template_variables(
    messages: list[dict[str, Any]], bos: str, eos: str, now: datetime.datetime, **extra: Any
) -> dict[str, Any]:
    """Return all variables that chat templates use."""
    return {
        "messages": messages,
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "bos_token": bos,
        "eos_token": eos,
        "date_string": now.strftime("%d %b %Y"),
        "todays_date": now.strftime("%Y-%m-%d"),
        "cutting_knowledge_date": "December 2023",
        **extra,
    }


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeRequest)
    limit_resources()
    sys.stdout.buffer.write(msgspec.json.encode(probe_template(request)))


if __name__ == "__main__":
    main()
