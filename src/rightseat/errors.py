"""Every error that a user can meet, as one tree.

    RightseatError                500  ours       something here is broken
    ├── CallerError               400  caller     the request cannot be served as it is
    │   ├── Unauthorized          401             no key, or a wrong one
    │   ├── Forbidden             403             this host or origin may not call
    │   │   └── AddressRefused    403             the request names an address that is not called from here
    │   ├── NotFound              404             no such route, assistant, model, thread
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
    │   ├── OutputInvalid         502             the answer does not have the form that was asked for
    │   └── Incomplete            502             it stopped in the middle of an answer
    ├── ConfigError               500             rightseat.toml is wrong; names file, key and fix
    ├── TooManyRounds             500             the model kept calling tools
    ├── FlowFailed                500             a step of a flow failed, and nothing caught it
    │   └── FlowStopped           500             a person let a flow end before its end
    ├── ContinuationGone          409  caller     the question was answered before, or has expired
    ├── Unavailable               503             draining, or at a limit; come back later
    │   ├── Restarting            503             the server goes down in a moment
    │   ├── StoreFailed           503             what must be kept cannot be: a full disk, a broken file
    │   └── NotConfigured         503             nobody has set this up here
    └── TimedOut                  504             the run's own deadline passed

`fault` says who erred, `status` is the HTTP hint, `code` is stable and documented, and the message says
what to do next. A message is ours: it never repeats what an upstream said.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Fault = Literal["ours", "caller", "upstream"]


class RightseatError(Exception):
    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    fault: ClassVar[Fault] = "ours"

    def __init__(self, message: str, *, retry_after: float | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.param = param


class CallerError(RightseatError):
    status = 400
    code = "invalid_request"
    fault = "caller"


class Unauthorized(CallerError):
    status = 401
    code = "unauthorized"


class Forbidden(CallerError):
    status = 403
    code = "forbidden"


class AddressRefused(Forbidden):
    code = "address_refused"


class NotFound(CallerError):
    status = 404
    code = "not_found"


class MethodNotAllowed(CallerError):
    status = 405
    code = "method_not_allowed"

    def __init__(self, message: str, *, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class RequestTimeout(CallerError):
    status = 408
    code = "request_timeout"


class Conflict(CallerError):
    status = 409
    code = "conflict"


class ContinuationGone(Conflict):
    code = "already_answered"


class TooLarge(CallerError):
    status = 413
    code = "too_large"


class NotJson(CallerError):
    status = 415
    code = "not_json"


class RateLimited(CallerError):
    status = 429
    code = "rate_limited"


class TooManyRuns(CallerError):
    status = 429
    code = "too_many_runs"


class SpendExceeded(CallerError):
    status = 429
    code = "spend_exceeded"


class HeadersTooLarge(CallerError):
    status = 431
    code = "headers_too_large"


class ContextTooLong(CallerError):
    code = "context_too_long"


class UpstreamError(RightseatError):
    status = 502
    code = "upstream_error"
    fault = "upstream"


class UpstreamRefused(UpstreamError):
    code = "upstream_unreachable"


class UpstreamRejected(UpstreamError):
    code = "upstream_rejected"


class UpstreamDenied(UpstreamError):
    code = "upstream_denied"


class UpstreamBusy(UpstreamError):
    status = 429
    code = "upstream_busy"


class UpstreamOverloaded(UpstreamBusy):
    status = 503
    code = "upstream_overloaded"


class UpstreamTimeout(UpstreamError):
    status = 504
    code = "upstream_timeout"


class UpstreamGarbled(UpstreamError):
    code = "upstream_garbled"


class UpstreamTooLarge(UpstreamError):
    code = "upstream_too_large"


class OutputInvalid(UpstreamError):
    code = "invalid_output"


class Incomplete(UpstreamError):
    code = "incomplete"


class ConfigError(RightseatError):
    code = "config"


class TooManyRounds(RightseatError):
    code = "too_many_rounds"


class FlowFailed(RightseatError):
    code = "flow_failed"


class FlowStopped(FlowFailed):
    code = "flow_stopped"


class Unavailable(RightseatError):
    status = 503
    code = "unavailable"


class Restarting(Unavailable):
    code = "restarting"


class StoreFailed(Unavailable):
    code = "store_failed"


class NotConfigured(Unavailable):
    code = "not_configured"


class TimedOut(RightseatError):
    status = 504
    code = "deadline"
