"""One worker of `rightseat serve --workers N`: `python -m rightseat.cli.worker DESCRIPTOR`.

The descriptor is the channel to the supervisor. The beat starts before the application is imported and built.
"""

from __future__ import annotations

import socket
import sys

from rightseat.server.workers.link import SupervisorLink, open_link


def main() -> None:
    link = open_link(int(sys.argv[1]))
    link.begin_beat()

    from rightseat.cli import print_error
    from rightseat.errors import RightseatError

    try:
        run_worker(link)
    except RightseatError as error:
        print_error(error.message)
        sys.exit(1)
    finally:
        link.close()


def run_worker(link: SupervisorLink) -> None:
    """Serve like a process of its own, on the port of all workers."""
    from rightseat.cli import log
    from rightseat.cli.models import prepare_config
    from rightseat.cli.serve import ServeArguments, list_app_rows
    from rightseat.server import service
    from rightseat.server.uvicorn_server import UvicornServer

    start = link.start
    arguments = ServeArguments.decode(start.arguments)
    config = arguments.load()
    settings = config.server
    log.configure_logging(settings.log, settings.log_level, foreign_text=not config.production, worker=start.number)
    service.check_exposure(config)
    config = prepare_config(config, fetch=False)
    app = service.build_app(config)
    app.worker = link
    link.attach(app.runtime.meters, settings.grace)
    listener = open_worker_listener(link)
    service.raise_file_limit()
    base = service.local_url(*start.address)
    with listener:
        running = service.Service(app, config, lambda: arguments.reload(running))
        server = UvicornServer(
            running, settings, lambda: link.tell_ready(list_app_rows(app, config, base)), link.tell_reloaded
        )
        server.run(sockets=[listener])


def open_worker_listener(link: SupervisorLink) -> socket.socket:
    """Return the worker's own socket, which listens once the worker is ready, or the one that all share."""
    if link.start.listener is not None:
        return socket.socket(fileno=link.start.listener)
    from rightseat.server import service

    return service.open_listener(*link.start.address, shared=True)


if __name__ == "__main__":
    main()
