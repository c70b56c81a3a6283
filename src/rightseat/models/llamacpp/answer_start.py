"""Answers that begin with the caller's words: a final assistant message to continue, and the caller's own grammar."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models.llamacpp.completion import check_grammar
from rightseat.models.llamacpp.formats.format import PromptPlan
from rightseat.types.model import Prompt
from rightseat.types.settings import CONTINUE


def split_begun_answer(prompt: Prompt) -> tuple[Prompt, str]:
    """Return the prompt without its final assistant message, and that message's text, which the answer continues;
    the prompt itself and no text if nothing is to be continued."""
    last = prompt.messages[-1] if prompt.messages else None
    if not prompt.settings.extra.get(CONTINUE) or last is None or last.role != "assistant" or last.calls:
        return prompt, ""
    return skip_thinking(replace(prompt, messages=prompt.messages[:-1])), last.text


def use_own_grammar(plan: PromptPlan, prompt: Prompt) -> PromptPlan:
    """Return the plan with the caller's grammar, if the prompt has one."""
    grammar = prompt.settings.extra.get("grammar")
    if not grammar:
        return plan
    if prompt.callable_tools or prompt.output_schema is not None:
        raise CallerError(
            "grammar: tools and a JSON schema have their own grammar. Leave out the grammar or these.", param="grammar"
        )
    check_grammar(grammar)
    return replace(plan, grammar=grammar)


def skip_thinking(prompt: Prompt) -> Prompt:
    """Return the prompt of an answer that begins with its text, not with a thought."""
    extra = prompt.settings.extra
    return replace(prompt, settings=replace(prompt.settings, extra=extra | {"reasoning_effort": "none"}))
