"""Convert failures of a llama-server to our errors. Its own messages stay in the debug log."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat import errors
from rightseat.errors import RightseatError


def make_unreachable_error() -> RightseatError:
    return errors.UpstreamRefused("The llama-server cannot be reached: check that it runs, and its address.")


def make_incomplete_error() -> RightseatError:
    return errors.Incomplete("The llama-server stopped in the middle of an answer: try again.")


def make_timeout_error(seconds: float, begun: bool) -> RightseatError:
    problem = "fell silent" if begun else "did not begin to answer"
    return errors.UpstreamTimeout(
        f"The llama-server {problem} for {seconds:g} s: try again, or with less text."
    )


def make_garbled_error(why: str) -> RightseatError:
    return errors.UpstreamGarbled(
        f"The llama-server sent what cannot be read ({why}): check that the address is a llama-server's."
    )


def error_from_response(status: int, body: bytes) -> RightseatError:
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        parsed = None
    return error_from_object(status, parsed.get("error") if isinstance(parsed, dict) else None)


def error_from_object(status: int, error: Any) -> RightseatError:
    """Return the error for an `error` object in a response body or in a stream."""
    error = error if isinstance(error, dict) else {}
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else status
    message = error.get("message")
    message = message.lower() if isinstance(message, str) else ""
    if error.get("type") == "exceed_context_size_error" or "context size" in message:
        return _make_context_error(error)
    if status == 400 and "grammar" in message:
        return errors.CallerError(
            "The model's server does not take this grammar: check it, or simplify the schema.",
            param="grammar",
        )
    return _error_from_status(status)


def _make_context_error(error: dict[str, Any]) -> RightseatError:
    prompt_tokens, context_window = error.get("n_prompt_tokens"), error.get("n_ctx")
    if type(prompt_tokens) is int and type(context_window) is int:
        return errors.ContextTooLong(
            f"The prompt has {prompt_tokens} tokens, and the model has room for {context_window}: "
            f"cut at least {max(1, prompt_tokens - context_window + 1)} tokens of messages or tools, or serve it with more."
        )
    return errors.ContextTooLong(
        "The conversation does not fit the model's context: cut messages or tools, or serve it with more."
    )


def _error_from_status(status: int) -> RightseatError:
    if status in (401, 403):
        return errors.UpstreamDenied("The llama-server refused our key: check its api_key.")
    if status == 429:
        return errors.UpstreamBusy("The llama-server has too much to do: try later.")
    if status == 503:
        return errors.UpstreamOverloaded(
            "The llama-server is still loading its model: try later.", retry_after=1
        )
    if status in (404, 405, 501) or 300 <= status < 400:
        return errors.UpstreamRejected(
            f"The llama-server does not offer this (HTTP {status}): "
            "check its address, and that it was started with what is asked of it."
        )
    if status in (400, 413, 422):
        return errors.CallerError(
            "The llama-server does not take this request: check its settings; the debug log has the reason."
        )
    return errors.UpstreamError(f"The llama-server failed (HTTP {status}): try again.")
