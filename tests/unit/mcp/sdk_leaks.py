"""The SDK's HTTP client leaves its own streams to the garbage collector, and its server a watcher of the
process's end. That is not ours to mend: what is theirs is forgiven, and everything else still counts."""

import gc
from collections.abc import Generator

import pytest

from tests.conftest import leaks

SDK_PATHS = ("/site-packages/httpx2/", "/site-packages/httpcore2/", "/site-packages/sse_starlette/")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown() -> Generator[None]:
    yield
    gc.collect()
    leaks[:] = [leak for leak in leaks if not any(place in leak for place in SDK_PATHS)]
