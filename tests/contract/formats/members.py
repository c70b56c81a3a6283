"""Every tool-call format. A new one is one entry here: the format, and how a model writes in it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from rightseat.models.llamacpp.formats import ToolCallFormat
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.command_r7b import CommandR7BFormat
from rightseat.models.llamacpp.formats.deepseek import DeepSeekFormat, DeepSeekV31Format
from rightseat.models.llamacpp.formats.firefunction import FireFunctionFormat
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
from tests.contract.formats.cases import FormatCase

THINKING_ALLOWED = ThinkingTags(allowed=True)


@dataclass(frozen=True)
class FormatMember:
    """`write`: an answer without its thought, as the model writes it. `mixed`: text and calls in one answer.
    `talks`: an answer may be plain text, as it is."""

    format: ToolCallFormat
    write: Callable[[FormatCase], str]
    mixes_text_and_calls: bool = True
    allows_plain_text: bool = True
    thinking: ThinkingTags = THINKING_ALLOWED


def write_hermes(case: FormatCase) -> str:
    calls = [f'<tool_call>\n{{"name": "{n}", "arguments": {a}}}\n</tool_call>' for n, a in case.calls]
    return "\n".join(filter(None, [case.text, *calls]))


def write_signatures(case: FormatCase) -> str:
    calls = [f'<tool_call>{{"name": "{n}", "arguments": {a}}}</tool_call>' for n, a in case.calls]
    return "\n".join(filter(None, [case.text, *calls]))


def write_mistral(case: FormatCase) -> str:
    calls = ", ".join(f'{{"name": "{n}", "arguments": {a}, "id": "a1B2c3D4e"}}' for n, a in case.calls)
    return case.text + (f"[TOOL_CALLS] [{calls}]" if calls else "")


def write_mistral_args(case: FormatCase) -> str:
    return case.text + "".join(f"[TOOL_CALLS]{n}[ARGS]{a}" for n, a in case.calls)


def write_command_r7b(case: FormatCase) -> str:
    calls = ",\n    ".join(
        f'{{"tool_call_id": "{number}", "tool_name": "{n}", "parameters": {a}}}'
        for number, (n, a) in enumerate(case.calls)
    )
    text = f"<|START_RESPONSE|>{case.text}<|END_RESPONSE|>" if case.text else ""
    return text + (f"<|START_ACTION|>[\n    {calls}\n]<|END_ACTION|>" if calls else "")


def write_deepseek(case: FormatCase) -> str:
    calls = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{a}\n```<｜tool▁call▁end｜>" for n, a in case.calls
    )
    return case.text + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def write_deepseek_v31(case: FormatCase) -> str:
    calls = "".join(f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{a}<｜tool▁call▁end｜>" for n, a in case.calls)
    return case.text + (f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else "")


def write_llama(case: FormatCase) -> str:
    return case.text + "; ".join(f'{{"name": "{n}", "parameters": {a}}}' for n, a in case.calls)


def write_firefunction(case: FormatCase) -> str:
    calls = ", ".join(f'{{"name": "{n}", "arguments": {a}}}' for n, a in case.calls)
    return case.text + (f" functools[{calls}]" if calls else "")


def write_functions(case: FormatCase) -> str:
    return case.text + "".join(f"<function={n}>{a}</function>" for n, a in case.calls)


def write_functionary_v2(case: FormatCase) -> str:
    texts = [("all", case.text)] if case.text else []
    return "\n<|from|>assistant\n<|recipient|>".join(f"{n}\n<|content|>{a}" for n, a in (*texts, *case.calls))


def write_functionary_v3(case: FormatCase) -> str:
    texts = [("all", case.text)] if case.text else []
    return ">>>".join(f"{n}\n{a}" for n, a in (*texts, *case.calls))


def write_generic(case: FormatCase) -> str:
    calls = ", ".join(f'{{"name": "{n}", "arguments": {a}}}' for n, a in case.calls)
    result = f'"result": {json.dumps(case.text, ensure_ascii=False)}'
    step = f'"tool_calls": [{calls}]' if calls else result
    return f'{{"thought_about_next_step_only": "", "next_step": {{{step}}}}}'


MEMBERS: dict[str, FormatMember] = {
    member.format.name: member
    for member in (
        FormatMember(HermesFormat(), write_hermes),
        FormatMember(SignatureFormat(), write_signatures),
        FormatMember(MistralFormat(), write_mistral),
        FormatMember(MistralArgsFormat(), write_mistral_args),
        FormatMember(
            CommandR7BFormat(),
            write_command_r7b,
            thinking=ThinkingTags(allowed=True, open_tag="<|START_THINKING|>", close_tag="<|END_THINKING|>"),
        ),
        FormatMember(DeepSeekFormat(), write_deepseek),
        FormatMember(DeepSeekV31Format(), write_deepseek_v31),
        FormatMember(Llama31Format(), write_llama, mixes_text_and_calls=False),
        FormatMember(LlamaFunctionsFormat(), write_functions),
        FormatMember(FireFunctionFormat(), write_firefunction),
        FormatMember(FunctionaryV2Format(), write_functionary_v2, allows_plain_text=False),
        FormatMember(FunctionaryV3Format(), write_functionary_v3, allows_plain_text=False),
        FormatMember(FunctionaryV31Format(), write_functions),
        FormatMember(FunctionaryV32Format(), write_functionary_v3, allows_plain_text=False),
        FormatMember(GenericFormat(), write_generic, mixes_text_and_calls=False, allows_plain_text=False),
    )
}
