"""Fetching what strangers name: a URL in a message, a plugin's server, a redirect. Always under a guard."""

from rightseat.outbound.fetch import Fetched, Outbound
from rightseat.outbound.rules import Rules

__all__ = ["Fetched", "Outbound", "Rules"]
