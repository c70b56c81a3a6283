"""Functionary v2: `<|from|>assistant`, `<|recipient|>NAME` and `<|content|>{…}`, each on its own line."""

from __future__ import annotations

from collections.abc import Iterable

from rightseat.models.llamacpp.formats.format import FormatContext
from rightseat.models.llamacpp.formats.recipients import RecipientFormat
from rightseat.tools.text_calls.typescript import render_namespace

FROM, RECIPIENT, CONTENT, STOP = "<|from|>", "<|recipient|>", "<|content|>", "<|stop|>"


class FunctionaryV2Format(RecipientFormat):
    name = "functionary-v2"
    template_markers = ((FROM, RECIPIENT, CONTENT),)
    own_prompt = True
    recipient_prefix = f"{FROM}assistant\n{RECIPIENT}"
    recipient_suffix = f"\n{CONTENT}"
    stop_words = (STOP,)
    preserved_tokens = (FROM, RECIPIENT, CONTENT, STOP)

    def list_forbidden_words(self, recipients: Iterable[str]) -> tuple[str, ...]:
        return (FROM,)

    def describe_tools(self, context: FormatContext) -> str:
        return context.mark_foreign(render_namespace(context.tools))
