"""Import Google's SDK without its warnings, which would fail the import under `-W error`."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

__all__ = ["errors", "genai", "types"]
