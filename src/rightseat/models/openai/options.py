"""The spec `openai:NAME` and its options → OpenAI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.models.openai.client import OPENAI_URL, OpenAI, is_openai
from rightseat.models.openai.emulated import Emulated
from rightseat.nearest import meant


class Options(Struct, frozen=True, kw_only=True):
    base_url: str = OPENAI_URL
    """The server, up to and with `/v1`; else OPENAI_BASE_URL. A query in it goes along with each request."""
    api_key: str | None = None
    """Sent as `Authorization: Bearer`. Else OPENAI_API_KEY, but only to OpenAI and OPENAI_BASE_URL."""
    headers: dict[str, str] = {}
    """Further headers of each request; a value may be a reference."""
    connect_timeout: float = 10
    """Seconds for a connection."""
    first_token_timeout: float = 120
    """Seconds for the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    developer_role: bool | None = None
    """Whether the server knows the role `developer`; not given: api.openai.com does, others do not."""
    strict_tools: bool = False
    """The server enforces every tool's schema: arguments are passed on as they come."""
    usage: bool = True
    """The server takes `stream_options`; false for old ones that refuse it."""
    images: bool | None = None
    """Whether the model takes images; not given: those of api.openai.com do, others do not."""
    tries: int = 3
    """How often a request is sent that fails before its first token."""
    tools: Literal["native", "schema", "prompt"] = "native"
    """How tools are called: by the server; where it knows none, by its JSON schemas or by asking for it."""


def model(name: str, options: Mapping[str, Any]) -> OpenAI:
    """What the options do not give comes from OPENAI_API_KEY and OPENAI_BASE_URL."""
    if not name:
        raise ConfigError("openai: needs a model's name, as in openai:gpt-5-mini")
    keys = Options.__struct_fields__
    for key in options:
        if key not in keys:
            hint = meant(key, keys)
            raise ConfigError(f"The model openai:{name} has no option {key!r}. {hint}", param=key)
    given = {"base_url": os.environ.get("OPENAI_BASE_URL") or OPENAI_URL, **options}
    # The environment's key belongs to the environment's server: it is not shown to any other.
    if "base_url" not in options or is_openai(str(options["base_url"])):
        given.setdefault("api_key", os.environ.get("OPENAI_API_KEY") or None)
    try:
        known = msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The model openai:{name} has a wrong option: {error}") from error
    _check(name, known)
    fields = {field: getattr(known, field) for field in keys if field != "tools"}
    return OpenAI(name, **fields) if known.tools == "native" else Emulated(name, tools=known.tools, **fields)


def _check(name: str, options: Options) -> None:
    for key in ("connect_timeout", "first_token_timeout", "idle_timeout", "tries"):
        if not getattr(options, key) > 0:
            raise ConfigError(f"The model openai:{name} needs a {key} above 0.", param=key)
    carried = {header.lower() for header in options.headers}
    if is_openai(options.base_url) and not options.api_key and "authorization" not in carried:
        raise ConfigError(
            f"The model openai:{name} needs a key: set OPENAI_API_KEY, or base_url to your own server."
        )
