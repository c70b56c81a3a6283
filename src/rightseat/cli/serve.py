"""`rightseat serve`: loads the configuration, builds the application and runs the server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rightseat import wiring as registry
from rightseat.cli import card, embedded, log
from rightseat.config import load
from rightseat.server import listen
from rightseat.server.service import Service, build
from rightseat.server.uvicorn_server import Server


def serve(
    path: Path | None,
    *,
    host: str | None,
    port: int | None,
    model: str | None,
    flags: Mapping[str, Any],
    plugins: Sequence[Path] = (),
) -> None:
    reread = partial(load, path, host=host, port=port, model=model, flags=flags, plugins=tuple(plugins))
    config = reread()
    settings = config.server
    log.configure(settings.log, settings.log_level, words=not config.production)
    listen.protect(config)
    # Fail before a long download if the port is taken.
    listen.listen(settings.host, settings.port).close()
    config = embedded.prepared(config)
    app = build(config)
    listener = listen.listen(settings.host, settings.port)
    base = listen.url(listener, settings.host)
    listen.raise_file_limit()

    def announce() -> None:
        # Printed before the ready file is written; a closed stdout must not stop the server.
        with contextlib.suppress(OSError):
            doors, plugins = registry.every("doors"), app.runtime.plugins
            card.show(card.rows(config, registry.choose(config), base, doors, plugins), base)
        if ready := os.environ.get("RIGHTSEAT_READY_FILE"):
            listen.write_ready(Path(ready), base)

    with listener:
        service = Service(app, config, lambda: embedded.prepared(reread(), fetch=False))
        Server(service, settings, announce).run(sockets=[listener])
