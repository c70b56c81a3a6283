"""Known servers with OpenAI's API: `ollama:NAME`, `lmstudio:NAME` and `vllm:NAME` name their usual address."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.models.openai.client import OpenAIModel
from rightseat.models.openai.options import model


class KnownServer(Struct, frozen=True):
    """A server whose usual address on this machine is known."""

    kind: str
    title: str
    base_url: str
    start: str
    """What to do where nothing answers at the address."""
    variable: str = ""
    """The environment variable by which the server's own tools name another address."""

    def find_base_url(self) -> str:
        """Return the address, or the one that the variable names: a host, with or without scheme and port."""
        match = re.fullmatch(
            r"(https?://)?(\[[0-9a-fA-F:]+\]|[\w.-]+)?(:\d{1,5})?/?", os.environ.get(self.variable, "")
        )
        if match is None or not match[0]:
            return self.base_url
        host = "127.0.0.1" if match[2] in (None, "0.0.0.0") else match[2]
        return f"{match[1] or 'http://'}{host}{match[3] or ':11434'}/v1"


KNOWN_SERVERS = {
    server.kind: server
    for server in (
        KnownServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", "start it with `ollama serve`", "OLLAMA_HOST"),
        KnownServer("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "turn on its local server"),
        KnownServer("vllm", "vLLM", "http://127.0.0.1:8000/v1", "start it with `vllm serve NAME`"),
    )
}


def make_factory(server: KnownServer) -> Callable[[str, Mapping[str, Any]], OpenAIModel]:
    """Return the function that makes a server's models. No key of the environment is sent: `api_key` names one."""

    def make_known_model(name: str, options: Mapping[str, Any]) -> OpenAIModel:
        known_model = model(name, {"base_url": server.find_base_url(), **options}, kind=server.kind)
        known_model.errors = copy.copy(known_model.errors)
        known_model.errors.server = server.title
        known_model.errors.unreachable = f"{server.start}, or set base_url"
        return known_model

    return make_known_model


ollama = make_factory(KNOWN_SERVERS["ollama"])
lmstudio = make_factory(KNOWN_SERVERS["lmstudio"])
vllm = make_factory(KNOWN_SERVERS["vllm"])
