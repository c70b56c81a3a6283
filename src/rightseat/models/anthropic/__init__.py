"""Claude, by Anthropic's own SDK and its Messages API.

client.py asks and tries again; request.py makes the body of a Prompt (conversation.py its messages, parts.py
pictures and files, schema.py what can be enforced, known.py what each Claude takes); transport.py lets the
SDK talk by our HTTP client; exchange.py reads one answer, and answer.py makes Fragments of what wire.py
decodes; thoughts.py remembers what was thought in earlier turns; faults.py has every error; options.py reads
the spec `anthropic:NAME`.
"""

from rightseat.models.anthropic.client import Anthropic
from rightseat.models.anthropic.options import model

__all__ = ["Anthropic", "model"]
