"""Rank tools by likelihood, for models too small to choose one themselves.

A model of a hundred million parameters picks the same tool name whatever the question is. Its likelihoods are
more reliable: the best tool is the one whose description makes the question most likely, compared with a chat
baseline. Each description is therefore followed by the question, and the question's logprobs are summed.
"""

from __future__ import annotations

from itertools import islice, takewhile

from rightseat.models.llamacpp import sessions
from rightseat.models.llamacpp.likelihood import NEVER
from rightseat.models.llamacpp.sessions import Server
from rightseat.types.messages import said
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing

# Each tool costs one read of its description and of the question.
MOST_TOOLS = 8
LONGEST_QUESTION = 48
"""Tokens of the question that are scored: the request stands early in it, and more tokens cost time."""
LONGEST_DESCRIPTION = 400
LEAST_GAIN = -2.5
"""Minimum log-likelihood gain of a tool over the chat baseline; measured, see evals/local.md."""
LEAST_UNDESCRIBED = -1.0
"""Minimum gain of a tool without a description."""
_ASKED = "Example request:"
_TALK = f"Function: chat\nDescription: Talk with the user\nArguments: text\n{_ASKED}"


async def chosen(server: Server, prompt: Prompt) -> ToolChoice:
    """Return the prompt's tool choice, narrowed to one named tool or to none where the ranking decides."""
    tools = prompt.callable
    if prompt.tool_choice.mode not in ("auto", "required") or not 0 < len(tools) <= MOST_TOOLS:
        return prompt.tool_choice
    last = prompt.messages[-1] if prompt.messages else said("user", "")
    if last.role == "tool" and not prompt.must:
        # A small model would repeat the same call endlessly.
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
    """Return the question's first tokens, up to one that is only part of a character: the engine fails on
    such tokens in a grammar (small models use them for Chinese). Empty if only white space is left."""
    pieces = await (await server.client()).pieces(question, special=False)
    whole = list(islice(takewhile(lambda one: isinstance(one.piece, str), pieces), LONGEST_QUESTION))
    return [one.id for one in whole] if any(str(one.piece).strip() for one in whole) else []


async def _gains(server: Server, tokens: list[int], tools: tuple[ToolSpec, ...]) -> dict[str, float]:
    """Return for each tool its log-likelihood gain over the chat baseline."""
    talk = await _likelihood(server, _TALK, tokens)
    return {tool.name: await _likelihood(server, _described(tool), tokens) - talk for tool in tools}


def _described(tool: ToolSpec) -> str:
    description = f"Description: {tool.description[:LONGEST_DESCRIPTION]}\n"
    if not tool.description:
        description += f"Arguments: {', '.join(tool.parameters.get('properties') or ())}\n"
    return f"Function: {tool.name}\n{description}{_ASKED}"


async def _likelihood(server: Server, before: str, tokens: list[int]) -> float:
    """Return the log-likelihood of the tokens after `prefix`, by a grammar that allows only these tokens."""
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
