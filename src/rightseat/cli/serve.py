"""`rightseat serve`: loads the configuration, builds the application and runs the server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rightseat.cli import card, embedded, log
from rightseat.config.read import load_config
from rightseat.server import listen
from rightseat.server.service import Service, build_app
from rightseat.server.uvicorn_server import UvicornServer
from rightseat.wiring.choice import choose_model
from rightseat.wiring.names import load_all


def serve(
    path: Path | None,
    *,
    host: str | None,
    port: int | None,
    model: str | None,
    flags: Mapping[str, Any],
    plugins: Sequence[Path] = (),
) -> None:
    reload_config = partial(
        load_config, path, host=host, port=port, model=model, flags=flags, plugins=tuple(plugins)
    )
    config = reload_config()
    settings = config.server
    log.configure_logging(settings.log, settings.log_level, foreign_text=not config.production)
    listen.check_exposure(config)
    # Fail before a long download if the port is taken.
    listen.open_listener(settings.host, settings.port).close()
    config = embedded.prepare_config(config)
    app = build_app(config)
    listener = listen.open_listener(settings.host, settings.port)
    base = listen.listener_url(listener, settings.host)
    listen.raise_file_limit()

    def on_ready() -> None:
        # Printed before the ready file is written; a closed stdout must not stop the server.
        with contextlib.suppress(OSError):
            doors, plugins = load_all("doors"), app.runtime.plugins
            card.print_startup(
                card.list_startup_rows(config, choose_model(config), base, doors, plugins), base
            )
        if ready := os.environ.get("RIGHTSEAT_READY_FILE"):
            listen.write_ready_file(Path(ready), base)

    with listener:
        service = Service(app, config, lambda: embedded.prepare_config(reload_config(), fetch=False))
        UvicornServer(service, settings, on_ready).run(sockets=[listener])
