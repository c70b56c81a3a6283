"""Every tool-call format. A new one is one entry here: the format, and how a model writes in it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from rightseat.models.llamacpp.formats import ToolCallFormat
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.command_r7b import CommandR7BFormat
from rightseat.models.llamacpp.formats.deepseek import DeepSeekFormat, DeepSeekV31Format
from rightseat.models.llamacpp.formats.functionary import (
    FunctionaryV2Format,
    FunctionaryV3Format,
    FunctionaryV31Format,
    FunctionaryV32Format,
)
from rightseat.models.llamacpp.formats.generic import GenericFormat
from rightseat.models.llamacpp.formats.hermes import HermesFormat, SignatureFormat
from rightseat.models.llamacpp.formats.llama import Llama31Format, LlamaFunctionsFormat
from rightseat.models.llamacpp.formats.mistral import MistralArgsFormat, MistralFormat
from tests.contract.formats.cases import Said

THINK = ThinkingTags(allowed=True)


@dataclass(frozen=True)
class Member:
    """`write`: an answer without its thought, as the model writes it. `mixed`: text and calls in one answer.
    `talks`: an answer may be plain text, as it is."""

    format: ToolCallFormat
    write: Callable[[Said], str]
    mixed: bool = True
    talks: bool = True
    thinking: ThinkingTags = THINK


def hermes(said: Said) -> str:
    calls = [f'<tool_call>\n{{"name": "{n}", "arguments": {a}}}\n</tool_call>' for n, a in said.calls]
    return "\n".join(filter(None, [said.text, *calls]))


def signatures(said: Said) -> str:
    calls = [f'<tool_call>{{"name": "{n}", "arguments": {a}}}</tool_call>' for n, a in said.calls]
    return "\n".join(filter(None, [said.text, *calls]))


def mistral(said: Said) -> str:
    calls = ", ".join(f'{{"name": "{n}", "arguments": {a}, "id": "a1B2c3D4e"}}' for n, a in said.calls)
    return said.text + (f"[TOOL_CALLS] [{calls}]" if calls else "")


def mistral_args(said: Said) -> str:
    return said.text + "".join(f"[TOOL_CALLS]{n}[ARGS]{a}" for n, a in said.calls)


def command_r7b(said: Said) -> str:
    calls = ",\n    ".join(
        f'{{"tool_call_id": "{number}", "tool_name": "{n}", "parameters": {a}}}'
        for number, (n, a) in enumerate(said.calls)
    )
    text = f"<|START_RESPONSE|>{said.text}<|END_RESPONSE|>" if said.text else ""
    return text + (f"<|START_ACTION|>[\n    {calls}\n]<|END_ACTION|>" if calls else "")


def deepseek(said: Said) -> str:
    calls = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{a}\n```<｜tool▁call▁end｜>" for n, a in said.calls
    )
    return said.text + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def deepseek_v31(said: Said) -> str:
    calls = "".join(f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{a}<｜tool▁call▁end｜>" for n, a in said.calls)
    return said.text + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def llama(said: Said) -> str:
    return said.text + "; ".join(f'{{"name": "{n}", "parameters": {a}}}' for n, a in said.calls)


def functions(said: Said) -> str:
    return said.text + "".join(f"<function={n}>{a}</function>" for n, a in said.calls)


def functionary_v2(said: Said) -> str:
    told = [("all", said.text)] if said.text else []
    return "\n<|from|>assistant\n<|recipient|>".join(f"{n}\n<|content|>{a}" for n, a in (*told, *said.calls))


def functionary_v3(said: Said) -> str:
    told = [("all", said.text)] if said.text else []
    return ">>>".join(f"{n}\n{a}" for n, a in (*told, *said.calls))


def generic(said: Said) -> str:
    calls = ", ".join(f'{{"name": "{n}", "arguments": {a}}}' for n, a in said.calls)
    result = f'"result": {json.dumps(said.text, ensure_ascii=False)}'
    step = f'"tool_calls": [{calls}]' if calls else result
    return f'{{"thought_about_next_step_only": "", "next_step": {{{step}}}}}'


MEMBERS: dict[str, Member] = {
    member.format.name: member
    for member in (
        Member(HermesFormat(), hermes),
        Member(SignatureFormat(), signatures),
        Member(MistralFormat(), mistral),
        Member(MistralArgsFormat(), mistral_args),
        Member(
            CommandR7BFormat(),
            command_r7b,
            thinking=ThinkingTags(allowed=True, open_tag="<|START_THINKING|>", close_tag="<|END_THINKING|>"),
        ),
        Member(DeepSeekFormat(), deepseek),
        Member(DeepSeekV31Format(), deepseek_v31),
        Member(Llama31Format(), llama, mixed=False),
        Member(LlamaFunctionsFormat(), functions),
        Member(FunctionaryV2Format(), functionary_v2, talks=False),
        Member(FunctionaryV3Format(), functionary_v3, talks=False),
        Member(FunctionaryV31Format(), functions),
        Member(FunctionaryV32Format(), functionary_v3, talks=False),
        Member(GenericFormat(), generic, mixed=False, talks=False),
    )
}
