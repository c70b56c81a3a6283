"""OpenAI, Azure OpenAI, and any server with an OpenAI-compatible API.

client.py sends requests. request.py builds the body for chat completions and responses.
exchange.py reads one response: timeouts, SSE payloads, the fast path for text deltas. responses_parser.py and
the shared parser of chat completions turn payloads into ModelChunks. vendors.py knows the differences between
OpenAI, Azure and compatible servers. emulated.py emulates tool calls where the server has none. speech.py
writes and reads transcriptions. errors.py maps errors.
options.py parses `openai:NAME`. known_servers.py has the addresses of `ollama:NAME`, `lmstudio:NAME`, `vllm:NAME`.
"""

from rightseat.models.openai.client import OpenAIModel
from rightseat.models.openai.options import model

__all__ = ["OpenAIModel", "model"]
