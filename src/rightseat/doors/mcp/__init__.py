"""The MCP door: plugins' operations, flows and assistants as tools, for clients of both protocol eras."""

from rightseat.doors.mcp.routes import door

__all__ = ["door"]
