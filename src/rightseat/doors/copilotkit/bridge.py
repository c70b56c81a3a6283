"""Convert graphql-core's incremental results to the form that the clients read: the index is in the path, and
there is no `pending`, `id` or `completed`."""

from __future__ import annotations

from typing import Any

from graphql import GraphQLError
from graphql.execution import InitialIncrementalExecutionResult, SubsequentIncrementalExecutionResult

from rightseat.errors import RightseatError

ResultPath = list[str | int]
MAX_MESSAGE = 500
INTERNAL_ERROR_MESSAGE = "Something went wrong in the server. Its log has the details."


class IncrementalResultAdapter:
    def __init__(self) -> None:
        self.paths: dict[str, ResultPath] = {}
        self.counts: dict[str, int] = {}

    def adapt_initial(self, result: InitialIncrementalExecutionResult) -> dict[str, Any]:
        self.track_pending(result.pending, [([], result.data)])
        payload: dict[str, Any] = {"data": result.data}
        if result.errors:
            payload["errors"] = [format_graphql_error(error) for error in result.errors]
        return {**payload, "hasNext": True}

    def adapt_subsequent(self, result: SubsequentIncrementalExecutionResult) -> dict[str, Any]:
        entries: list[dict[str, Any]] = []
        values: list[tuple[ResultPath, Any]] = []
        for item in result.incremental or ():
            entry, value = self.adapt_item(item)
            entries.append(entry)
            values.append(value)
        self.track_pending(result.pending, values)
        for done in result.completed or ():
            path = self.paths.pop(done.id)
            self.counts.pop(done.id, None)
            if done.errors:
                entries.append(
                    {"data": None, "path": path, "errors": [format_graphql_error(e) for e in done.errors]}
                )
        return {**({"incremental": entries} if entries else {}), "hasNext": result.has_next}

    def adapt_item(self, item: Any) -> tuple[dict[str, Any], tuple[ResultPath, Any]]:
        """Return an increment as it is sent, and the path and value of its data."""
        path = self.paths[item.id]
        errors = {"errors": [format_graphql_error(error) for error in item.errors]} if item.errors else {}
        if hasattr(item, "items"):
            start = self.counts[item.id]
            self.counts[item.id] += len(item.items)
            items = dict(zip(range(start, start + len(item.items)), item.items, strict=True))
            return {"items": item.items, "path": [*path, start], **errors}, (path, items)
        path = [*path, *(item.sub_path or ())]
        return {"data": item.data, "path": path, **errors}, (path, item.data)

    def track_pending(self, pending: Any, values: list[tuple[ResultPath, Any]]) -> None:
        """Record the paths of pending results, and the current length of pending lists."""
        for pending_result in pending or ():
            self.paths[pending_result.id] = list(pending_result.path)
            self.counts[pending_result.id] = 0
            for path, value in values:
                if pending_result.path[: len(path)] == path:
                    list_value = get_at_path(value, pending_result.path[len(path) :])
                    self.counts[pending_result.id] = (
                        len(list_value) if isinstance(list_value, list) else self.counts[pending_result.id]
                    )


def get_at_path(value: Any, path: ResultPath) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def format_graphql_error(error: GraphQLError) -> dict[str, Any]:
    """Format an error for the client, without details of server faults."""
    formatted: dict[str, Any] = dict(error.formatted)
    # The message may quote a long input value.
    formatted["message"] = INTERNAL_ERROR_MESSAGE if is_server_fault(error) else error.message[:MAX_MESSAGE]
    return formatted


def is_server_fault(error: GraphQLError) -> bool:
    """Whether the error is an unexpected exception, not a GraphQLError of a resolver or of graphql-core."""
    return not isinstance(error.original_error, GraphQLError | None) and not error.extensions


def get_http_status(error: GraphQLError) -> int:
    """Return the HTTP status that corresponds to the error, for the access log."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error or cause.__cause__
    if isinstance(cause, RightseatError):
        return cause.status
    return 500 if is_server_fault(error) else 400
