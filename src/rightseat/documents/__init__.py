"""Documents of clients and tools to text within a budget of tokens.

reading: `read`, kind dispatch. document: requests, results, limits. kinds: detection. text, table, json, office, pdf,
image: one reader per kind. isolation, child: parsing in a separate process.
"""

from rightseat.documents.document import DEFAULT_LIMITS, Document, ReadLimits
from rightseat.documents.reading import read

__all__ = ["DEFAULT_LIMITS", "Document", "ReadLimits", "read"]
