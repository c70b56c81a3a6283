"""What a client or a tool hands over, as text that a model can use, within a budget of tokens."""

from rightseat.documents.document import LIMITS, Document, Limits
from rightseat.documents.reading import read

__all__ = ["LIMITS", "Document", "Limits", "read"]
