"""The tree of errors that a user can meet.

    RightseatError                500  ours       something here is broken
    ├── CallerError               400  caller     the request cannot be served as it is
    │   ├── Unauthorized          401             no key, or a wrong one
    │   ├── Forbidden             403             this host or origin may not call
    │   │   └── AddressRefused    403             the request names an address that is not called from here
    │   ├── NotFound              404             no such route, assistant, model, thread
    │   │   └── AgentNotFound     404             no such agent; says which there are
    │   ├── GuardrailRefused      400             what was asked is not allowed here
    │   ├── PublicKeyRequired     400             cloud features need the page's public API key
    │   ├── MethodNotAllowed      405             the route exists, but not with this method
    │   ├── RequestTimeout        408             the request took too long to arrive
    │   ├── Conflict              409             already answered, or already running
    │   ├── TooLarge              413             body over the limit
    │   ├── NotJson               415             a browser sent something else than JSON
    │   ├── RateLimited           429             too many requests in a minute
    │   ├── TooManyRuns           429             too many answers at the same time
    │   ├── SpendExceeded         429             the day's money or tokens are used
    │   ├── HeadersTooLarge       431             the request's head is over the limit
    │   └── ContextTooLong        400             the conversation does not fit the model
    ├── UpstreamError             502  upstream   the model's server erred
    │   ├── UpstreamRefused       502             it cannot be reached
    │   ├── UpstreamRejected      502             it does not take our request (4xx)
    │   ├── UpstreamDenied        502             it does not take our key (401, 403)
    │   ├── UpstreamBusy          429             over a rate limit, with Retry-After
    │   │   └── UpstreamOverloaded 503            too much to do, or down for a while
    │   ├── UpstreamTimeout       504             it said nothing for too long
    │   ├── UpstreamGarbled       502             what it sent cannot be read
    │   ├── UpstreamTooLarge      502             it sent more than is read
    │   ├── ContentRefused        502             the vendor will not answer this
    │   ├── OutputGuarded         502             the answer says what is not allowed here
    │   ├── AgentFailed           502             a remote agent erred in the middle of its run
    │   ├── DiscoveryFailed       502             a remote endpoint does not say what it has
    │   ├── OutputInvalid         502             the answer does not have the form that was asked for
    │   ├── LocalModelDied        503             the process of a local model ended
    │   └── Incomplete            502             it stopped in the middle of an answer
    ├── ConfigError               500             rightseat.toml is wrong; names file, key and fix
    │   ├── GgufError             500             a model's file is no GGUF file, or a broken one
    │   ├── WeightsError          500             a model's weights cannot be fetched or verified
    │   ├── TemplateRefused       500             a model's chat template cannot be used
    │   └── LocalModelNotStarted  500             the process of a local model does not start
    ├── Misused                   500             set up in a way that cannot work; says what to change
    ├── TooManyRounds             500             the model kept calling tools
    ├── ToolThreadsExhausted      500             too many calls of a tool do not end
    ├── ChildDied                 500             the process of a tool ended in the middle of a call
    ├── FlowFailed                500             a step of a flow failed, and nothing caught it
    │   └── FlowStopped           500             a person let a flow end before its end
    ├── ContinuationGone          409  caller     the question was answered before, or has expired
    ├── Unavailable               503             draining, or at a limit; come back later
    │   ├── Restarting            503             the server goes down in a moment
    │   ├── StoreFailed           503             what must be kept cannot be: a full disk, a broken file
    │   │   └── StoreDamaged      503             the file of what is kept is damaged
    │   └── NotConfigured         503             nobody has set this up here
    └── TimedOut                  504             the run's own deadline passed

`fault` says who erred, `status` is the HTTP hint, `code` is stable and documented, and the message says
what to do next. A message is ours: it never repeats what an upstream said.

`visibility` and `severity` say how a front end shows it, in the words of CopilotKit's clients; `hint` says
what to do next whatever the message is; `link` is its page of docs/errors, which a server has at that path.
CopilotKit's own tree is part of this one: CopilotKitError is RightseatError, its LowLevel errors are the
UpstreamErrors, ApiDiscovery is NotFound and DiscoveryFailed, AgentDiscovery AgentNotFound, Misuse Misused.
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
        self.after_effect = False
        """Whether a tool may have had an effect before: a client must not send the request again by itself."""
        self.upstream = ""
        """Scheme, host and port of the server that could not be called: for the operator's log, never for a client."""

    @classmethod
    def link(cls) -> str:
        return f"/docs/errors/{cls.code}"


INTERNAL_ERROR = RightseatError("Something went wrong in the server. Its log has the details.")
"""What a client learns of an exception that nobody expected."""


def make_internal_error(cause: Exception, detail: str = "") -> RightseatError:
    """Return INTERNAL_ERROR with the exception that nobody expected as its cause, for the operator.

    `detail` is the error's text for a caller in this process; `message`, which doors send, never has it.
    """
    error = RightseatError(INTERNAL_ERROR.message)
    error.args = (detail or error.message,)
    error.__cause__ = cause
    return error


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
    hint = "Name the page's origin in `cors`, or the host in `hosts`, of [server] or of `rightseat.asgi`."


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
    severity = WARNING
    hint = "Ask in another way; what is allowed here is set in [guardrails]."


class PublicKeyRequired(CallerError):
    code = "public_key_required"
    severity = CRITICAL
    hint = "Give the page's <CopilotKit> a `publicApiKey`, or send no `cloud`."


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
    hint = "Send less, or raise `max_body_mb` of [server] or of `rightseat.asgi`."


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

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        param: str | None = None,
        tokens: int | None = None,
        window: int | None = None,
    ) -> None:
        """`tokens` of the refused prompt and the model's `window`, where its server has named them."""
        super().__init__(message, retry_after=retry_after, param=param)
        self.tokens = tokens
        self.window = window


class UpstreamError(RightseatError):
    status = 502
    code = "upstream_error"
    fault = "upstream"
    visibility = BANNER
    severity = CRITICAL
    hint = "Try again; if it stays so, look at the model's own server."


class UpstreamRefused(UpstreamError):
    code = "upstream_unreachable"
    hint = "Check that the model's server runs, and its address in [models]."


class UpstreamRejected(UpstreamError):
    code = "upstream_rejected"
    visibility = BANNER
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


class LocalModelDied(UpstreamError):
    """The local model's process exited, or hung and was killed."""

    code = "local_model_died"
    status = 503
    hint = "Try again: the process is started anew. If it dies each time, its lines in the log say why."


class Incomplete(UpstreamError):
    code = "incomplete"
    hint = "Ask again: what was said so far is not the whole answer."


class ConfigError(RightseatError):
    code = "config"
    visibility = BANNER
    severity = WARNING
    hint = "Correct the key that the message names in rightseat.toml."


class GgufError(ConfigError):
    code = "bad_gguf"
    hint = "Fetch the file again, or name another GGUF file."


class WeightsError(ConfigError):
    code = "weights"
    hint = "Check the network and the free space, or copy the file from another machine."


class TemplateRefused(ConfigError):
    code = "chat_template"
    hint = "Name another template with `chat_template`, such as chatml."


class LocalModelNotStarted(ConfigError):
    code = "local_model_not_started"
    hint = "Look at the engine's lines in the log: the file, the memory and the options of the model."


class Misused(RightseatError):
    code = "misuse"
    visibility = DEV_ONLY
    severity = WARNING
    hint = "Change the set-up as the message says: it cannot work as it is."


class TooManyRounds(RightseatError):
    code = "too_many_rounds"
    hint = "Ask for less at once, or raise `rounds` of this assistant."


class ToolThreadsExhausted(RightseatError):
    code = "threads_exhausted"
    hint = "Restart the server, and give the tool a timeout of its own: its earlier calls still run."


class ChildDied(RightseatError):
    code = "tool_crashed"
    hint = "Look at the tool's own lines in the log; the call may have had an effect."


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
    severity = CRITICAL
    hint = "Wait for `Retry-After` seconds and try again."


class Restarting(Unavailable):
    code = "restarting"
    hint = "Try again in a moment: the server is coming back."


class StoreFailed(Unavailable):
    code = "store_failed"
    hint = "Look at the disk of the data folder: full, or not writable."


class StoreDamaged(StoreFailed):
    code = "store_damaged"
    hint = "Stop the server and run `rightseat store repair`, or bring back a backup with `rightseat store restore`."


class NotConfigured(Unavailable):
    code = "not_configured"
    hint = "Set up what the message names, or do without it."


class TimedOut(RightseatError):
    status = 504
    code = "deadline"
    hint = "Ask for less at once, or raise `run_seconds` in [limits]."


@functools.cache
def errors_by_code() -> dict[str, type[RightseatError]]:
    return {
        kind.code: kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, RightseatError)
    }


def error_class_for(code: str, fault: Fault) -> type[RightseatError]:
    """Return the error class of a code; an unknown code, such as a remote agent's, gets that of its fault."""
    roots: dict[Fault, type[RightseatError]] = {"caller": CallerError, "upstream": UpstreamError}
    return errors_by_code().get(code) or roots.get(fault, RightseatError)
