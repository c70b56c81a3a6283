"""HTTP in and out, below every family.

Server side: endpoint (doors, routes, requests), reply (writes to ASGI), refusals (errors that the client is told), sse,
static, auth (keys, JWT), security (Host, Origin, body limits), multipart (forms with files), forwarding (proxies,
client headers), agui/ (AG-UI as bytes and values).
Client side: client (HTTP/1.1 to a configured server, streaming), upstream (its errors, the response head), idle (the
timer of a silent stream), retry, fetch/ (URLs that a stranger names). Both: descriptors (none left, the reserve).

The client follows no redirects, keeps no cookies, uses no proxies and decompresses nothing.
"""
