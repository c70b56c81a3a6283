"""MCP servers as sources of tools, by the official SDK: both protocol eras, stdio and streamable HTTP."""
