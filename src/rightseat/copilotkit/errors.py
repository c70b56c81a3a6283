"""CopilotKit's error classes by their names. Each is a class of rightseat's own tree, so that an error is caught by
either name, whoever raised it; `extensions.name` of a GraphQL error is the name that is used here."""

from rightseat.errors import AgentNotFound, DiscoveryFailed, Misused, RightseatError, UpstreamError

CopilotKitError = RightseatError
"""Base of all errors."""
CopilotKitLowLevelError = UpstreamError
"""A server behind this one cannot be reached, or fails."""
CopilotKitApiDiscoveryError = DiscoveryFailed
"""A remote endpoint does not say what it has."""
CopilotKitAgentDiscoveryError = AgentNotFound
"""There is no agent of this name."""
CopilotKitMisuseError = Misused
"""The set-up cannot work as it is."""

__all__ = [
    "CopilotKitAgentDiscoveryError",
    "CopilotKitApiDiscoveryError",
    "CopilotKitError",
    "CopilotKitLowLevelError",
    "CopilotKitMisuseError",
]
