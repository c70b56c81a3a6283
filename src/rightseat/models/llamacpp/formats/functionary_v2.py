"""Functionary v2: `<|from|>assistant`, `<|recipient|>NAME` and `<|content|>{…}`, each on its own line."""

from __future__ import annotations

from collections.abc import Iterable

from rightseat.models.llamacpp.formats.format import Ask
from rightseat.models.llamacpp.formats.recipients import Recipients
from rightseat.tools.text_calls.typescript import namespace

FROM, RECIPIENT, CONTENT, STOP = "<|from|>", "<|recipient|>", "<|content|>", "<|stop|>"


class FunctionaryV2(Recipients):
    name = "functionary-v2"
    marks = ((FROM, RECIPIENT, CONTENT),)
    own_prompt = True
    begin = f"{FROM}assistant\n{RECIPIENT}"
    middle = f"\n{CONTENT}"
    stops = (STOP,)
    preserved = (FROM, RECIPIENT, CONTENT, STOP)

    def barred(self, recipients: Iterable[str]) -> tuple[str, ...]:
        return (FROM,)

    def told(self, ask: Ask) -> str:
        return ask.foreign(namespace(ask.tools))
