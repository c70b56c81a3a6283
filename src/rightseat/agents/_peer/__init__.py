"""Shared parts of remote agents: HTTP client and options, errors, health monitor, partial JSON."""
