"""Convert graphql-core's incremental results to the form that the clients read: the index is in the path, and
there is no `pending`, `id` or `completed`."""

from __future__ import annotations

from typing import Any

from graphql import GraphQLError
from graphql.execution import InitialIncrementalExecutionResult, SubsequentIncrementalExecutionResult

from rightseat.errors import RightseatError

Path = list[str | int]
MAX_MESSAGE = 500
OURS = "Something went wrong in the server. Its log has the details."


class Bridge:
    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.counts: dict[str, int] = {}

    def first(self, result: InitialIncrementalExecutionResult) -> dict[str, Any]:
        self.open(result.pending, [([], result.data)])
        made: dict[str, Any] = {"data": result.data}
        if result.errors:
            made["errors"] = [shown(error) for error in result.errors]
        return {**made, "hasNext": True}

    def next(self, result: SubsequentIncrementalExecutionResult) -> dict[str, Any]:
        entries: list[dict[str, Any]] = []
        values: list[tuple[Path, Any]] = []
        for item in result.incremental or ():
            entry, value = self.entry(item)
            entries.append(entry)
            values.append(value)
        self.open(result.pending, values)
        for done in result.completed or ():
            path = self.paths.pop(done.id)
            self.counts.pop(done.id, None)
            if done.errors:
                entries.append({"data": None, "path": path, "errors": [shown(e) for e in done.errors]})
        return {**({"incremental": entries} if entries else {}), "hasNext": result.has_next}

    def entry(self, item: Any) -> tuple[dict[str, Any], tuple[Path, Any]]:
        """Return an increment as it is sent, and the path and value of its data."""
        path = self.paths[item.id]
        errors = {"errors": [shown(error) for error in item.errors]} if item.errors else {}
        if hasattr(item, "items"):
            start = self.counts[item.id]
            self.counts[item.id] += len(item.items)
            items = dict(zip(range(start, start + len(item.items)), item.items, strict=True))
            return {"items": item.items, "path": [*path, start], **errors}, (path, items)
        path = [*path, *(item.sub_path or ())]
        return {"data": item.data, "path": path, **errors}, (path, item.data)

    def open(self, pending: Any, values: list[tuple[Path, Any]]) -> None:
        """Record the paths of pending results, and the current length of pending lists."""
        for one in pending or ():
            self.paths[one.id] = list(one.path)
            self.counts[one.id] = 0
            for path, value in values:
                if one.path[: len(path)] == path:
                    found = at(value, one.path[len(path) :])
                    self.counts[one.id] = len(found) if isinstance(found, list) else self.counts[one.id]


def at(value: Any, path: Path) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def shown(error: GraphQLError) -> dict[str, Any]:
    """Format an error for the client, without details of server faults."""
    made: dict[str, Any] = dict(error.formatted)
    # The message may quote a long input value.
    made["message"] = OURS if ours(error) else error.message[:MAX_MESSAGE]
    return made


def ours(error: GraphQLError) -> bool:
    """Whether the error is an unexpected exception, not a GraphQLError of a resolver or of graphql-core."""
    return not isinstance(error.original_error, GraphQLError | None) and not error.extensions


def status_of(error: GraphQLError) -> int:
    """Return the HTTP status that corresponds to the error, for the access log."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error or cause.__cause__
    if isinstance(cause, RightseatError):
        return cause.status
    return 500 if ours(error) else 400
