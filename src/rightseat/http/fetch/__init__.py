"""Fetches URLs that a stranger names (a message, a plugin, a redirect) without SSRF.

fetch: the client, redirects, size and time limits. rules: allowed hosts and addresses. target: strict URL
parsing. exchange: one request to a checked address.
"""

from rightseat.http.fetch.fetch import FetchResult, OutboundClient
from rightseat.http.fetch.rules import AddressRules

__all__ = ["AddressRules", "FetchResult", "OutboundClient"]
