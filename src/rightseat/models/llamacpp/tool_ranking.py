"""Rank tools by likelihood, for models too small to choose one themselves.

A model of a hundred million parameters picks the same tool name whatever the question is. Its likelihoods are
more reliable: the best tool is the one whose description makes the question most likely, compared with a chat
baseline. Each description is therefore followed by the question, and the question's logprobs are summed.
"""

from __future__ import annotations

from itertools import islice, takewhile

from rightseat.models.llamacpp import slot_scheduler
from rightseat.models.llamacpp.client import LlamaServer
from rightseat.models.llamacpp.completion import IMPOSSIBLE_LOGPROB
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing

# Each tool costs one read of its description and of the question.
MAX_TOOLS = 8
MAX_QUESTION_TOKENS = 48
"""Tokens of the question that are scored: the request stands early in it, and more tokens cost time."""
MAX_DESCRIPTION_CHARS = 400
MIN_GAIN = -2.5
"""Minimum log-likelihood gain of a tool over the chat baseline; measured, see evals/local.md."""
MIN_GAIN_UNDESCRIBED = -1.0
"""Minimum gain of a tool without a description."""
_REQUEST_LABEL = "Example request:"
_CHAT_BASELINE = f"Function: chat\nDescription: Talk with the user\nArguments: text\n{_REQUEST_LABEL}"


async def choose_tool(server: LlamaServer, prompt: Prompt) -> ToolChoice:
    """Return the prompt's tool choice, narrowed to one named tool or to none where the ranking decides."""
    tools = prompt.callable_tools
    if prompt.tool_choice.mode not in ("auto", "required") or not 0 < len(tools) <= MAX_TOOLS:
        return prompt.tool_choice
    last = prompt.messages[-1] if prompt.messages else text_message("user", "")
    if last.role == "tool" and not prompt.requires_tool_call:
        # A small model would repeat the same call endlessly.
        return ToolChoice("none")
    if last.role != "user" or not last.text.strip():
        return prompt.tool_choice
    tokens = await _tokenize_question(server, " " + last.text.strip())
    if not tokens:
        return prompt.tool_choice
    gains = await _score_tools(server, tokens, tools)
    best = max(tools, key=lambda tool: gains[tool.name])
    threshold = MIN_GAIN if best.description else MIN_GAIN_UNDESCRIBED
    if gains[best.name] < threshold and not prompt.requires_tool_call:
        return ToolChoice("none")
    return ToolChoice("named", best.name)


async def _tokenize_question(server: LlamaServer, question: str) -> list[int]:
    """Return the question's first tokens, up to one that is only part of a character: the engine fails on
    such tokens in a grammar (small models use them for Chinese). Empty if only white space is left."""
    pieces = await (await server.client()).tokenize_with_pieces(question, special=False)
    tokens = list(islice(takewhile(lambda token: isinstance(token.piece, str), pieces), MAX_QUESTION_TOKENS))
    return [token.id for token in tokens] if any(str(token.piece).strip() for token in tokens) else []


async def _score_tools(server: LlamaServer, tokens: list[int], tools: tuple[ToolSpec, ...]) -> dict[str, float]:
    """Return for each tool its log-likelihood gain over the chat baseline."""
    baseline = await _log_likelihood(server, _CHAT_BASELINE, tokens)
    return {tool.name: await _log_likelihood(server, _describe_tool(tool), tokens) - baseline for tool in tools}


def _describe_tool(tool: ToolSpec) -> str:
    description = f"Description: {tool.description[:MAX_DESCRIPTION_CHARS]}\n"
    if not tool.description:
        description += f"Arguments: {', '.join(tool.parameters.get('properties') or ())}\n"
    return f"Function: {tool.name}\n{description}{_REQUEST_LABEL}"


async def _log_likelihood(server: LlamaServer, prefix: str, tokens: list[int]) -> float:
    """Return the log-likelihood of the tokens after `prefix`, by a grammar that allows only these tokens."""
    request = {
        "prompt": prefix,
        "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        "n_predict": len(tokens),
        "n_probs": 1,
        "temperature": 0,
        "cache_prompt": True,
    }
    total = 0.0
    async with closing(slot_scheduler.stream_in_slot(server, request)) as pieces:
        async for piece in pieces:
            logprobs = (token.get("logprob") for token in piece.completion_probabilities)
            total += sum(IMPOSSIBLE_LOGPROB if logprob is None else logprob for logprob in logprobs)
    return total
