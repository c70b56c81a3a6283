"""Digest of a configuration: replicas that have the same one answer alike."""

from __future__ import annotations

import hashlib
import json

import msgspec

from rightseat.config.settings import Config

OWN_FIELDS = ("path", "model_from", "flags", "without_local")
"""Fields that say where a configuration comes from."""
OWN_SERVER_FIELDS = ("host", "port", "workers")
"""Fields of [server] that each machine may have of its own."""


def compute_config_digest(config: Config) -> str:
    """Return a digest of all that replicas should have in common. Secrets are no part of it."""
    values = msgspec.to_builtins(config, enc_hook=str)
    for name in OWN_FIELDS:
        values.pop(name, None)
    for name in OWN_SERVER_FIELDS:
        values["server"].pop(name, None)
    # What leads to the store and to the live server may differ from machine to machine.
    values["store"].pop("path", None)
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:12]
