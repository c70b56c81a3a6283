"""What the tests stand on: a fault upstream, a raw client, the real server as a child, a sink."""
