"""`each_case`: one test that runs every row of a table of cases and names all that fail.

For short checks of plain functions: there pytest's own work for a test costs many times the check. A case that
needs a fixture, a socket or a loop is parametrized as usual.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

import pytest

MAX_SHOWN = 300


def each_case(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Decorate a test like `pytest.mark.parametrize(names, cases)`, as one test for all cases."""
    several = not isinstance(names, str) or "," in names
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [read_row(case, several) for case in cases]
    assert rows, "a table without cases proves nothing"

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(check)
        def check_all() -> None:
            failures: list[str] = []
            for row in rows:
                case = dict(zip(keys, row, strict=True))
                with RunningCase(case, failures):
                    check(**case)
            if failures:
                pytest.fail(f"{len(failures)} of {len(rows)} cases:\n" + "\n".join(failures), pytrace=False)

        # pytest looks here for fixtures; the arguments are no fixtures.
        vars(check_all)["__signature__"] = inspect.Signature()
        return check_all

    return decorate


def read_row(case: Any, several: bool) -> tuple[Any, ...]:
    """Return the values of a case, which may be a `pytest.param` without marks."""
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "a case with marks is parametrized as usual"
        return tuple(case.values)
    return tuple(case) if several else (case,)


class RunningCase:
    """One case while it runs; what it raises is described in `failures`, and the next case runs."""

    def __init__(self, case: dict[str, Any], failures: list[str]) -> None:
        self._case = case
        self._failures = failures

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception | pytest.fail.Exception):
            return False
        # The first frame is the table's, the second the check's.
        inner = trace.tb_next if trace is not None else None
        line = f", line {inner.tb_lineno}" if inner is not None else ""
        shown = ", ".join(f"{name}={value!r}"[:MAX_SHOWN] for name, value in self._case.items())
        self._failures.append(f"- {shown}\n  {type(error).__name__}{line}: {error}")
        return True
