"""Google's client. What it warns of is its makers' concern; with `-W error` it would not even import."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

__all__ = ["errors", "genai", "types"]
