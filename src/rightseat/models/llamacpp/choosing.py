"""Which tool is meant, for a model that is too small to say so.

Asked to choose, a model of a hundred million parameters prefers a name, whatever the question is. The other
way round it knows more: a tool is meant if its description makes the question likely, more than other tools
do and about as much as talk does. So the question is read after each description, its probabilities summed.
"""

from __future__ import annotations

from itertools import islice, takewhile

from rightseat.models.llamacpp import sessions
from rightseat.models.llamacpp.likelihood import NEVER
from rightseat.models.llamacpp.sessions import Server
from rightseat.types.messages import said
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing

# Each tool costs as much as reading its description and the question.
MOST_TOOLS = 8
LONGEST_QUESTION = 48
"""Tokens: what is wanted is said early, and the rest costs time."""
LONGEST_DESCRIPTION = 400
LEAST_GAIN = -2.5
"""How likely (in logarithms) a tool must make the question, against talk: measured, see evals/local.md."""
LEAST_UNDESCRIBED = -1.0
"""The same for a tool that has no description, only a name and its arguments'."""
_ASKED = "Example request:"
_TALK = f"Function: chat\nDescription: Talk with the user\nArguments: text\n{_ASKED}"


async def chosen(server: Server, prompt: Prompt) -> ToolChoice:
    """The prompt's own choice, or a narrower one: a tool by its name, or none."""
    tools = prompt.callable
    if prompt.tool_choice.mode not in ("auto", "required") or not 0 < len(tools) <= MOST_TOOLS:
        return prompt.tool_choice
    last = prompt.messages[-1] if prompt.messages else said("user", "")
    if last.role == "tool" and not prompt.must:
        # It would ask for the same again, and again.
        return ToolChoice("none")
    if last.role != "user" or not last.text.strip():
        return prompt.tool_choice
    tokens = await _tokens(server, " " + last.text.strip())
    if not tokens:
        return prompt.tool_choice
    gains = await _gains(server, tokens, tools)
    best = max(tools, key=lambda tool: gains[tool.name])
    least = LEAST_GAIN if best.description else LEAST_UNDESCRIBED
    if gains[best.name] < least and not prompt.must:
        return ToolChoice("none")
    return ToolChoice("named", best.name)


async def _tokens(server: Server, question: str) -> list[int]:
    """Of the question's beginning, up to one that is only a part of a character: the engine fails on it in a
    grammar. Small models have such tokens for Chinese. None at all where nothing is left to judge."""
    pieces = await (await server.client()).pieces(question, special=False)
    whole = list(islice(takewhile(lambda one: isinstance(one.piece, str), pieces), LONGEST_QUESTION))
    return [one.id for one in whole] if any(str(one.piece).strip() for one in whole) else []


async def _gains(server: Server, tokens: list[int], tools: tuple[ToolSpec, ...]) -> dict[str, float]:
    """Of each tool, how much likelier its description makes the question than talk does."""
    talk = await _likelihood(server, _TALK, tokens)
    return {tool.name: await _likelihood(server, _described(tool), tokens) - talk for tool in tools}


def _described(tool: ToolSpec) -> str:
    description = f"Description: {tool.description[:LONGEST_DESCRIPTION]}\n"
    if not tool.description:
        description += f"Arguments: {', '.join(tool.parameters.get('properties') or ())}\n"
    return f"Function: {tool.name}\n{description}{_ASKED}"


async def _likelihood(server: Server, before: str, tokens: list[int]) -> float:
    """How likely the tokens are after this text: the grammar lets no others be written."""
    asked = {
        "prompt": before,
        "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        "n_predict": len(tokens),
        "n_probs": 1,
        "temperature": 0,
        "cache_prompt": True,
    }
    found = 0.0
    async with closing(sessions.completion(server, asked)) as pieces:
        async for piece in pieces:
            told = (one.get("logprob") for one in piece.completion_probabilities)
            found += sum(NEVER if logprob is None else logprob for logprob in told)
    return found
