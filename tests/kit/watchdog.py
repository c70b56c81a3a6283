"""One thread that ends a stuck test of this process; pytest-timeout would start and join a thread for each test."""

import threading
import time
from typing import Any

LOOK_SECONDS = 1.0


class TestWatchdog:
    """Ends the process as pytest-timeout does, with every thread's stack, when a test is over its time."""

    __test__ = False

    def __init__(self) -> None:
        self._running: tuple[float, Any, Any] | None = None
        self._thread: threading.Thread | None = None

    def start(self, item: Any, settings: Any) -> None:
        """Watch this test from now on."""
        self._running = (time.monotonic() + settings.timeout, item, settings)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._watch, name="test watchdog", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Watch nothing until the next test starts."""
        self._running = None

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            running = self._running
            if running is not None and time.monotonic() > running[0]:
                self._running = None
                item, settings = running[1:]
                item.config.pluginmanager.getplugin("timeout").timeout_timer(item, settings)
