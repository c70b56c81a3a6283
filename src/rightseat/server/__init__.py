"""The ASGI application and the process that serves it.

app: routing, checks, access log. operations: health, metrics, files. error_pages: what each error means.
openapi: /openapi.json. acceptor: new connections, also without a free descriptor.
service: the listening socket, the app and its runtimes, reload. second: the command for a second server beside it.
uvicorn_server, uvicorn_protocol: uvicorn with our signals, reload and limits.
terminal_progress: spinner and download bar. playground/: the page at `/`. workers/: several processes on one port.
"""
