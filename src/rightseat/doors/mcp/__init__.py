"""The MCP door: plugin operations, flows and assistants as tools of an MCP server.

It serves both protocol generations: with a handshake (up to 2025-11-25) and stateless (2026-07-28). `wire`
and `read` decode JSON-RPC, `catalog` lists tools, resources and prompts, `tool_call` runs one tools/call,
`active_calls` finds the call that a client answers or cancels, `routes` has the HTTP routes.
"""

from rightseat.doors.mcp.routes import door

__all__ = ["door"]
