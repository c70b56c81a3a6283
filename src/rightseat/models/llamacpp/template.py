"""Chat templates: probed in a child process before use, then rendered here in a sandbox."""

from __future__ import annotations

import asyncio
import datetime
import importlib.resources
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rightseat.errors import CallerError, ConfigError
from rightseat.models.llamacpp.abilities import Abilities
from rightseat.models.llamacpp.control import Control
from rightseat.models.llamacpp.gguf import Header
from rightseat.models.llamacpp.merging import fitted
from rightseat.models.llamacpp.proof import Question, Verdict, variables
from rightseat.models.llamacpp.sandbox import FAILURES, Clock, Sandbox, TooMuch
from rightseat.types.messages import Message

LONGEST = 1 << 20
TOOL_USE = "tool_use"
_PROOF_SECONDS = 20.0
_RENDER_SECONDS = 2.0

log = logging.getLogger(__name__)


class TemplateRefused(ConfigError):
    code = "chat_template"


@dataclass(frozen=True, slots=True)
class Sources:
    """Source texts of a model's templates, and its BOS and EOS tokens."""

    default: str
    tool_use: str | None = None
    bos: str = ""
    eos: str = ""

    def chosen(self, tools: bool) -> str:
        return self.tool_use if tools and self.tool_use else self.default


def from_header(header: Header) -> Sources:
    return _sources(header.template, header.templates.get(TOOL_USE), header.bos, header.eos)


def from_props(props: Mapping[str, Any]) -> Sources:
    """Return the sources that a llama-server reports at /props."""

    def text(key: str) -> str | None:
        value = props.get(key)
        return value if isinstance(value, str) and value else None

    return _sources(
        text("chat_template"), text("chat_template_tool_use"), text("bos_token"), text("eos_token")
    )


def chatml() -> str:
    return importlib.resources.files(__package__ or "").joinpath("chatml.jinja").read_text("utf-8")


def _sources(default: str | None, tool_use: str | None, bos: str | None, eos: str | None) -> Sources:
    if not default:
        log.warning("the model has no chat template: ChatML is used; --chat-template names another")
        default = chatml()
    return Sources(default, tool_use, bos or "", eos or "")


class Template:
    """A template that has passed its probe. Make one with `load_template`."""

    def __init__(self, source: str, abilities: Abilities, *, bos: str, eos: str, clock: Clock) -> None:
        self.source = source
        self.abilities = abilities
        self._bos = bos
        self._eos = eos
        self._clock = clock
        self._sandbox = Sandbox(clock)
        self._template = self._sandbox.compiled(source)

    def render(
        self,
        messages: Sequence[Message],
        *,
        control: Control,
        tools: Sequence[dict[str, Any]] = (),
        ending: bool = True,
        **more: Any,
    ) -> str:
        """Render the prompt, with control tokens in messages and tools marked (see ControlTokens).

        `tools` are in OpenAI's form; `extra` are further template variables.
        """
        turns = control.mark(fitted(messages, self.abilities))
        values = variables(turns, self._bos, self._eos, self._clock(), **more)
        values["tools"] = control.mark(list(tools)) or None
        values["add_generation_prompt"] = ending
        try:
            return self._sandbox.rendered(self._template, values, _RENDER_SECONDS)
        except TooMuch as error:
            raise TemplateRefused(f"The model's chat template wants {error.message}: use another.") from error
        except FAILURES as error:
            # The message comes from the template's author, so it goes to the log only.
            log.debug("the chat template refused a conversation: %r", error)
            raise CallerError(
                "The model's chat template does not take this conversation: check the order of the roles."
            ) from error


async def load(
    source: str, *, bos: str = "", eos: str = "", clock: Clock = datetime.datetime.now
) -> Template:
    """Probe and load a template; raises TemplateRefused if it is endless, huge or no chat template."""
    source = mended(source)
    abilities = await asyncio.to_thread(prove, source, bos, eos)
    return Template(source, abilities, bos=bos, eos=eos, clock=clock)


def mended(source: str) -> str:
    """Replace the literal `{role}` at the end of Functionary v3 templates, a bug in them, by `assistant`."""
    return re.sub(r"(['\"](?:<\|start_header_id\|>|<\|im_start\|>))\{role\}", r"\1assistant", source)


def prove(source: str, bos: str = "", eos: str = "") -> Abilities:
    """Probe a template in a child Python process and return its capabilities. Blocks."""
    if len(source) > LONGEST:
        raise _refused(f"it has more than {LONGEST} characters")
    try:
        question = msgspec.json.encode(Question(source, bos, eos))
    except UnicodeEncodeError:
        raise _refused("it is not valid text") from None
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if "SYSTEMROOT" in os.environ:
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rightseat.models.llamacpp.proof"],
            input=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_PROOF_SECONDS,
            check=False,
        )
        verdict = msgspec.json.decode(done.stdout, type=Verdict)
    except subprocess.TimeoutExpired:
        raise _refused("it does not end") from None
    except msgspec.DecodeError:
        # Killed by the CPU timer, or by the memory limit before Python could report it.
        raise _refused("it wants more time or memory than a chat template needs") from None
    if verdict.abilities is None:
        raise _refused(verdict.refused)
    return verdict.abilities


def _refused(why: str) -> TemplateRefused:
    return TemplateRefused(f"The model's chat template is refused: {why}. Name another with --chat-template.")
