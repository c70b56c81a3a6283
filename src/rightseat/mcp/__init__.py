"""MCP client: tools of MCP servers, by the official SDK, over stdio and streamable HTTP.

`connect` has the server's configuration and opens an SDK client, `connection` keeps one connection alive and
runs calls on it, `held_calls` passes answers to calls that other workers hold, `tool` makes Tools of a server's
tools, `tool_sources` has the Toolsets of configured servers and of servers that a request names, `exec_with_parent`
starts a child that dies with this process.
"""
