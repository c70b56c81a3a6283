"""Gemini models through Google's SDK (google-genai).

client.py sends requests and retries. request.py builds contents and config from a Prompt and narrows JSON
Schemas to what Gemini accepts. exchange.py reads one response, with timeouts and checks below the SDK.
stream_parser.py turns SDK chunks into ModelChunks and keeps thought signatures for the next request.
faults.py maps errors. options.py parses `google:NAME`. sdk.py imports the SDK.
"""

from rightseat.models.google.options import model

__all__ = ["model"]
