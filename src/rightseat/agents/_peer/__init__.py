"""Shared parts of remote agents: HTTP client, options and errors; sources and agents; JSON in texts."""
