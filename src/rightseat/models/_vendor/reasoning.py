"""Thoughts of OpenAI-compatible vendors: which ones a vendor wants back with later requests, and in which fields."""

from __future__ import annotations

import base64
import re
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.models.catalog import base_model_name
from rightseat.types.chunks import ProviderDataChunk
from rightseat.types.messages import REASONING_PROVIDER, Message

# Google's placeholder for calls of other models; Gemini 3 refuses calls without a signature.
_SKIP_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
_GEMINI_3 = re.compile(r"gemini-(?![12](\D|$))")
InlineThoughts = Literal["auto", "opened", "off"]
ReasoningVendor = Literal["deepseek", "kimi", "glm", "minimax", "openrouter", "google"]


class ReasoningRules(Struct, frozen=True, kw_only=True):
    """What a vendor takes back. `origin` is the server and the model that a blob must come from, unless it is text."""

    text: Literal["never", "calls", "turns"] = "never"
    """Which assistant messages carry their thoughts: none; those with calls; all, once one has calls."""
    placeholder: str | None = None
    """Text for a message whose thoughts are lost, at vendors that refuse a message without any."""
    details: bool = False
    """Whether `reasoning_details` go back."""
    signatures: bool = False
    """Whether `extra_content` of calls goes back."""
    needs_signature: bool = False
    """Whether a call without a signature is refused."""
    body: dict[str, Any] = {}
    """Further fields of each request."""
    disables_by_type: bool = False
    """Whether `thinking: {"type": "disabled"}` turns thinking off, instead of `reasoning_effort: none`."""
    origin: str = ""

    @property
    def active(self) -> bool:
        return self.text != "never" or self.details or self.signatures


# Hosts of each vendor, names of its models on other servers, its rules.
VENDORS: dict[ReasoningVendor, tuple[tuple[str, ...], str, ReasoningRules]] = {
    "deepseek": (
        ("api.deepseek.com",),
        r"deepseek-(v3\.[2-9]|v[4-9])",
        ReasoningRules(text="turns", placeholder="", disables_by_type=True),
    ),
    "kimi": (
        ("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        r"kimi-(k2\.\d|k2-thinking|k[3-9])",
        ReasoningRules(text="calls", placeholder=".", disables_by_type=True),
    ),
    "glm": (
        ("api.z.ai", "open.bigmodel.cn"),
        r"glm-(4\.[5-9]|[5-9])",
        ReasoningRules(text="calls", disables_by_type=True),
    ),
    "minimax": (
        ("api.minimax.io", "api.minimaxi.com"),
        r"minimax-m\d",
        # Without this field its thoughts are between tags in the text, and have to go back there.
        ReasoningRules(text="calls", details=True, body={"reasoning_split": True}),
    ),
    "openrouter": (("openrouter.ai",), "", ReasoningRules(text="calls", details=True)),
    "google": (("generativelanguage.googleapis.com",), "", ReasoningRules(signatures=True)),
}  # fmt: skip


def find_rules(
    host: str, name: str, vendor: ReasoningVendor | None = None, returns_reasoning: bool | None = None
) -> ReasoningRules:
    """Return the rules of a vendor, found by the server's host, else by the model's name. Open weights on a server of
    their own get no fields that only the vendor's server knows."""
    rules = ReasoningRules()
    known = vendor or next((key for key, (hosts, _, _) in VENDORS.items() if host in hosts), None)
    if known is None and host.endswith("aiplatform.googleapis.com"):
        known = "google"
    if known is not None:
        rules = VENDORS[known][2]
    else:
        base_name = base_model_name(name)
        matches = (found for _, pattern, found in VENDORS.values() if pattern and re.match(pattern, base_name))
        rules = replace(next(matches, rules), body={}, disables_by_type=False)
    if returns_reasoning is not None:
        rules = ReasoningRules(text="calls") if returns_reasoning and not rules.active else rules
        rules = rules if returns_reasoning else replace(rules, text="never", details=False, signatures=False)
    needs_signature = rules.signatures and _GEMINI_3.match(base_model_name(name)) is not None
    return replace(rules, origin=f"{host}/{name}", needs_signature=needs_signature)


class ReasoningRecorder:
    """Collects the thoughts of one answer that its vendor wants back."""

    def __init__(self, rules: ReasoningRules) -> None:
        self._rules = rules
        self._texts: list[str] = []
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._signatures: dict[str, Any] = {}

    def add_text(self, field: str, text: str) -> None:
        if self._rules.text != "never":
            self._field = field
            self._texts.append(text)

    def add_details(self, entries: list[Any]) -> None:
        """Add `reasoning_details`; the pieces of a streamed text are joined."""
        if not self._rules.details:
            return
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            last = self._details[-1] if self._details else None
            if last is None or not _continues_detail(last, entry):
                self._details.append(dict(entry))
                continue
            key = "summary" if "summary" in last else "text"
            joined = (last.get(key) or "") + (entry.get(key) or "")
            last.update({name: value for name, value in entry.items() if value is not None})
            last[key] = joined

    def add_signature(self, number: int, extra: Any) -> None:
        if self._rules.signatures and isinstance(extra, dict):
            self._signatures[str(number)] = extra

    def make_chunks(self, has_calls: bool) -> list[ProviderDataChunk]:
        """Return the chunk that keeps the thoughts with the message; none if they need not come back."""
        if not (has_calls or self._rules.text == "turns" or self._details):
            return []
        if not (self._texts or self._details or self._signatures):
            return []
        blob = {
            "origin": self._rules.origin,
            "field": self._field,
            "text": "".join(self._texts),
            "details": self._details,
            "signatures": self._signatures,
        }
        return [ProviderDataChunk(REASONING_PROVIDER, {key: value for key, value in blob.items() if value})]


def _continues_detail(last: dict[str, Any], entry: dict[str, Any]) -> bool:
    if last.get("type") != entry.get("type") or entry.get("type") not in ("reasoning.text", "reasoning.summary"):
        return False
    return last.get("index") == entry.get("index") and entry.get("id") in (None, last.get("id"))


def split_blob(blob: Any, number: int) -> Any:
    """Return the blob for a message with call `number` alone."""
    signatures = blob.get("signatures") or {}
    own = {"0": signatures[str(number)]} if str(number) in signatures else {}
    others = {key: value for key, value in blob.items() if key != "signatures"}
    return {**others, "signatures": own} if own else others


def add_reasoning(out: dict[str, Any], message: Message, rules: ReasoningRules, *, in_tool_loop: bool) -> None:
    """Add a message's thoughts to its JSON `out`, in the fields that the vendor takes. `in_tool_loop`: a message of
    the conversation has calls."""
    parts = [part.blob for part in message.opaque if part.provider == REASONING_PROVIDER]
    blob: dict[str, Any] = parts[-1] if parts and isinstance(parts[-1], dict) else {}
    is_own = blob.get("origin") == rules.origin
    if bool(message.calls) if rules.text == "calls" else rules.text == "turns" and in_tool_loop:
        text = blob.get("text") or rules.placeholder
        if text is not None:
            out[(is_own and blob.get("field")) or "reasoning_content"] = text
    if rules.details and is_own and message.calls and blob.get("details"):
        out["reasoning_details"] = blob["details"]
    if rules.signatures and message.calls:
        _add_signatures(out["tool_calls"], blob.get("signatures") or {} if is_own else {}, rules)


def _add_signatures(calls: list[dict[str, Any]], signatures: dict[str, Any], rules: ReasoningRules) -> None:
    for number, call in enumerate(calls):
        if (extra := signatures.get(str(number))) is not None:
            call["extra_content"] = extra
    if rules.needs_signature and not any("extra_content" in call for call in calls):
        calls[0]["extra_content"] = {"google": {"thought_signature": _SKIP_SIGNATURE}}
