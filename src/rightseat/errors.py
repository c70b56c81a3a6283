"""The tree of errors that a user can meet. docs/errors has a page for each, which a server has at its `link`.

`fault` says who erred, `status` is the HTTP hint, `code` is stable and documented. The message says what to do next
and is ours: it never repeats what an upstream said. `hint` says what to do whatever the message is. `visibility` and
`severity` say how a front end shows it, in the words of CopilotKit's clients. CopilotKit's own tree is part of this
one: CopilotKitError is RightseatError, its LowLevel errors are the UpstreamErrors, ApiDiscovery is NotFound and
DiscoveryFailed, AgentDiscovery AgentNotFound, Misuse Misused.
"""

from __future__ import annotations

import functools
from typing import ClassVar, Literal

Fault = Literal["ours", "caller", "upstream"]
Visibility = Literal["banner", "toast", "silent", "dev_only"]
Severity = Literal["critical", "warning", "info"]
# Typed constants: a subclass may override the value of its base class.
BANNER: Visibility = "banner"
TOAST: Visibility = "toast"
DEV_ONLY: Visibility = "dev_only"
CRITICAL: Severity = "critical"
WARNING: Severity = "warning"
INFO: Severity = "info"


class RightseatError(Exception):
    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    fault: ClassVar[Fault] = "ours"
    visibility: ClassVar[Visibility] = TOAST
    severity: ClassVar[Severity] = CRITICAL
    hint: ClassVar[str] = "Look for the request's id in the server's log; the details are there."

    def __init__(self, message: str, *, retry_after: float | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.param = param

    @classmethod
    def link(cls) -> str:
        return f"/docs/errors/{cls.code}"


class CallerError(RightseatError):
    status = 400
    code = "invalid_request"
    fault = "caller"
    visibility = BANNER
    severity = WARNING
    hint = "Change the request as the message says; `param` names the place."


class Unauthorized(CallerError):
    status = 401
    code = "unauthorized"
    severity = CRITICAL
    hint = "Send a key of this server: `Authorization: Bearer KEY`, or `X-Api-Key: KEY`."


class Forbidden(CallerError):
    status = 403
    code = "forbidden"
    hint = "Name the page's origin in `cors`, or the host in `hosts`, of [server]."


class AddressRefused(Forbidden):
    code = "address_refused"
    hint = "Give a public address, or let the operator allow this one."


class NotFound(CallerError):
    status = 404
    code = "not_found"
    severity = CRITICAL
    hint = "Check the name or the path; the message lists what there is."


class AgentNotFound(NotFound):
    code = "agent_not_found"
    hint = "Use one of the names that the message lists, or add the agent to [agents]."


class GuardrailRefused(CallerError):
    code = "guardrails_validation_failed"
    visibility = TOAST
    hint = "Ask in another way; what is allowed here is set in [guardrails]."


class MethodNotAllowed(CallerError):
    status = 405
    code = "method_not_allowed"
    severity = CRITICAL
    hint = "Use the method that the `Allow` header names."

    def __init__(self, message: str, *, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class RequestTimeout(CallerError):
    status = 408
    code = "request_timeout"
    hint = "Send the whole request at once; slow lines need a longer `body_timeout`."


class Conflict(CallerError):
    status = 409
    code = "conflict"
    hint = "Wait until the answer under way has ended, or stop it."


class ContinuationGone(Conflict):
    code = "already_answered"
    hint = "Ask again: a question can be answered once, and not for ever."


class TooLarge(CallerError):
    status = 413
    code = "too_large"
    hint = "Send less, or raise `max_body_mb` of [server]."


class NotJson(CallerError):
    status = 415
    code = "not_json"
    hint = "Send `Content-Type: application/json`."


class RateLimited(CallerError):
    status = 429
    code = "rate_limited"
    severity = CRITICAL
    hint = "Wait for `Retry-After` seconds; the limits are in [limits]."


class TooManyRuns(CallerError):
    status = 429
    code = "too_many_runs"
    severity = CRITICAL
    hint = "Wait until one of your answers has ended; the limits are in [limits]."


class SpendExceeded(CallerError):
    status = 429
    code = "spend_exceeded"
    severity = CRITICAL
    hint = "Come back tomorrow, or have the day's limit in [limits] raised."


class HeadersTooLarge(CallerError):
    status = 431
    code = "headers_too_large"
    hint = "Send fewer or shorter headers, or raise `max_header_kb` of [server]."


class ContextTooLong(CallerError):
    code = "context_too_long"
    hint = "Begin a new conversation, send less, or choose a model with a longer context."


class UpstreamError(RightseatError):
    status = 502
    code = "upstream_error"
    fault = "upstream"
    visibility = BANNER
    hint = "Try again; if it stays so, look at the model's own server."


class UpstreamRefused(UpstreamError):
    code = "upstream_unreachable"
    hint = "Check that the model's server runs, and its address in [models]."


class UpstreamRejected(UpstreamError):
    code = "upstream_rejected"
    severity = WARNING
    hint = "Check the model's name and options in [models]; outside production the debug log has its reason."


class UpstreamDenied(UpstreamError):
    code = "upstream_denied"
    hint = "Check the key of this model: its variable, its rights, whether it has expired."


class UpstreamBusy(UpstreamError):
    status = 429
    code = "upstream_busy"
    hint = "Wait for `Retry-After` seconds, or name a fallback in [models]."


class UpstreamOverloaded(UpstreamBusy):
    status = 503
    code = "upstream_overloaded"
    hint = "Try again in a while, or name a fallback in [models]."


class UpstreamTimeout(UpstreamError):
    status = 504
    code = "upstream_timeout"
    hint = "Try again, or raise the timeouts of this model in [models]."


class UpstreamGarbled(UpstreamError):
    code = "upstream_garbled"
    hint = "Check that the address in [models] is that of the right kind of server."


class UpstreamTooLarge(UpstreamError):
    code = "upstream_too_large"
    hint = "Ask for less at once, or raise the limit that the message names."


class ContentRefused(UpstreamError):
    code = "content_refused"
    visibility = TOAST
    severity = WARNING
    hint = "Ask in another way: the vendor's rules refused this, not this server."


class OutputGuarded(UpstreamError):
    code = "output_guarded"
    visibility = TOAST
    severity = WARNING
    hint = "Ask in another way; what may be said here is set in [guardrails]."


class AgentFailed(UpstreamError):
    code = "agent_failed"
    hint = "Try again; the log of the agent's own server says why it failed."


class DiscoveryFailed(UpstreamError):
    code = "discovery_failed"
    hint = "Check the address in [agents] and that the server behind it runs."


class OutputInvalid(UpstreamError):
    code = "invalid_output"
    hint = "Ask again, simplify the form, or choose a model that keeps to schemas."


class Incomplete(UpstreamError):
    code = "incomplete"
    hint = "Ask again: what was said so far is not the whole answer."


class ConfigError(RightseatError):
    code = "config"
    visibility = BANNER
    severity = WARNING
    hint = "Correct the key that the message names in rightseat.toml."


class Misused(RightseatError):
    code = "misuse"
    visibility = DEV_ONLY
    severity = WARNING
    hint = "Change the set-up as the message says: it cannot work as it is."


class TooManyRounds(RightseatError):
    code = "too_many_rounds"
    hint = "Ask for less at once, or raise `rounds` of this assistant."


class FlowFailed(RightseatError):
    code = "flow_failed"
    hint = "Look at the step that the message names; the log has its reason."


class FlowStopped(FlowFailed):
    code = "flow_stopped"
    visibility = TOAST
    severity = INFO
    hint = "Nothing is wrong: start the flow again when you like."


class Unavailable(RightseatError):
    status = 503
    code = "unavailable"
    visibility = BANNER
    hint = "Wait for `Retry-After` seconds and try again."


class Restarting(Unavailable):
    code = "restarting"
    hint = "Try again in a moment: the server is coming back."


class StoreFailed(Unavailable):
    code = "store_failed"
    hint = "Look at the disk of the data folder: full, or not writable."


class NotConfigured(Unavailable):
    code = "not_configured"
    hint = "Set up what the message names, or do without it."


class TimedOut(RightseatError):
    status = 504
    code = "deadline"
    hint = "Ask for less at once, or raise `run_seconds` in [limits]."


@functools.cache
def errors_by_code() -> dict[str, type[RightseatError]]:
    classes = [value for value in globals().values() if isinstance(value, type)]
    return {kind.code: kind for kind in classes if issubclass(kind, RightseatError)}


def error_class_for(code: str, fault: Fault) -> type[RightseatError]:
    """Return the error class of a code; an unknown code, such as a remote agent's, gets that of its fault."""
    roots: dict[Fault, type[RightseatError]] = {"caller": CallerError, "upstream": UpstreamError}
    return errors_by_code().get(code) or roots.get(fault, RightseatError)
