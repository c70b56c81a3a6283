"""Any LangChain chat model or Runnable, named by `langchain:MODULE:NAME`.

options.py parses the spec. client.py loads the target, binds tools and settings, and streams. request.py
builds LangChain messages from a Prompt. timed_reader.py reads values with timeouts and closes abandoned
generators. stream_parser.py turns values into ModelChunks and keeps signed thinking blocks. errors.py maps
errors of all vendors' clients.
"""

from rightseat.models.langchain.options import model

__all__ = ["model"]
