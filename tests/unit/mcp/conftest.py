from tests.unit.mcp.foreign import pytest_runtest_teardown

__all__ = ["pytest_runtest_teardown"]
