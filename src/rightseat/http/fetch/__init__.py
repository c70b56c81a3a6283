"""Fetching what strangers name: a URL in a message, a plugin's server, a redirect. Always under a guard."""

from rightseat.http.fetch.fetch import Fetched, Outbound
from rightseat.http.fetch.rules import Rules

__all__ = ["Fetched", "Outbound", "Rules"]
