"""`make test-live`: the model contract against each vendor whose key is set, and which were not run.

A vendor's model is that of its variable, such as ANTHROPIC_MODEL, else a small one. Costs a few cents.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.errors import ConfigError
from rightseat.wiring.lookup import make_model
from tests.live.cases import CASES, check_unknown_model, run_case


@dataclass(frozen=True)
class Vendor:
    name: str
    keys: tuple[str, ...]
    """One of them must be set."""
    kind: str
    model: str
    variable: str
    options: dict[str, Any] = field(default_factory=dict)

    def find_missing_key(self, env: Mapping[str, str]) -> str:
        return "" if any(env.get(key) for key in self.keys) else f"{' or '.join(self.keys)} is not set"

    def build_spec(self, env: Mapping[str, str]) -> str:
        return f"{self.kind}:{env.get(self.variable) or self.model}"


OPENAI = ("OPENAI_API_KEY",)
VENDORS = (
    Vendor("openai", OPENAI, "openai", "gpt-4o-mini", "OPENAI_MODEL"),
    Vendor("openai, reasoning", OPENAI, "openai", "gpt-5-mini", "OPENAI_REASONING_MODEL"),
    Vendor("openai by responses", OPENAI, "openai", "gpt-5-mini", "OPENAI_REASONING_MODEL", {"api": "responses"}),
    Vendor("azure", ("AZURE_OPENAI_ENDPOINT",), "openai", "gpt-4o-mini", "AZURE_OPENAI_DEPLOYMENT"),
    Vendor("anthropic", ("ANTHROPIC_API_KEY",), "anthropic", "claude-haiku-5-5", "ANTHROPIC_MODEL"),
    Vendor("google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "google", "gemini-3.8-flash", "GEMINI_MODEL"),
)


async def run_vendor(vendor: Vendor, env: Mapping[str, str]) -> list[str]:
    """What went wrong, by case."""
    options = dict(vendor.options)
    if vendor.name == "azure":
        # Else a key of OpenAI's in the same environment would be meant.
        options["azure_endpoint"] = env["AZURE_OPENAI_ENDPOINT"]
    try:
        model: Any = make_model(vendor.build_spec(env), options)
        unknown_model: Any = make_model(f"{vendor.kind}:no-such-model-1", options)
    except ConfigError as error:
        return [f"{vendor.name}: {error.message}"]
    problems = []
    try:
        for name, case in (*CASES.items(), ("a model that is none", check_unknown_model)):
            problem = await run_case(case, unknown_model if case is check_unknown_model else model)
            print(f"  {'RED ' if problem else 'ok  '} {vendor.name}: {name} {problem}".rstrip(), flush=True)
            problems += [f"{vendor.name}: {name}: {problem}"] if problem else []
    finally:
        for one in (model, unknown_model):
            await one.close()
    return problems


async def main(env: Mapping[str, str] = os.environ) -> int:
    ran, problems = [], []
    for vendor in VENDORS:
        if not vendor.find_missing_key(env):
            ran.append(vendor.name)
            problems += await run_vendor(vendor, env)
    for vendor in VENDORS:
        if reason := vendor.find_missing_key(env):
            print(f"  not run: {vendor.name}: {reason}")
    print(f"live: {len(ran)} of {len(VENDORS)} vendors, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
