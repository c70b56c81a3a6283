"""Any chat model or Runnable of LangChain, found by `langchain:MODULE:NAME`.

options.py reads the spec, source.py finds what it names; client.py asks it (request.py: Prompt → messages,
binding.py: tools and settings) and reading.py reads what it yields, under time; begun.py ends what it began;
answer.py and calls.py make Fragments of it; thoughts.py has what must travel back; faults.py knows the errors
of every vendor's client.
"""

from rightseat.models.langchain.options import model

__all__ = ["model"]
