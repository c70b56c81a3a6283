"""Any server that speaks OpenAI's chat completions.

client.py asks (request.py: Prompt → JSON) and retries; exchange.py reads one answer, watchdog.py its time;
answer.py and calls.py make Fragments of what wire.py decodes; faults.py has every error; emulated.py calls
tools where the server knows none; options.py reads the spec `openai:NAME`.
"""

from rightseat.models.openai.client import OpenAI
from rightseat.models.openai.options import model

__all__ = ["OpenAI", "model"]
