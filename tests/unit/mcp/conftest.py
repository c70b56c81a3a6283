from tests.unit.mcp.sdk_leaks import pytest_runtest_teardown

__all__ = ["pytest_runtest_teardown"]
