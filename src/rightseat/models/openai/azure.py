"""Azure OpenAI: deployment URLs and Microsoft Entra tokens."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any

from yarl import URL

from rightseat.config.loading import import_object
from rightseat.errors import ConfigError
from rightseat.http.address import parse_base_url
from rightseat.models.openai import faults

TokenProvider = Callable[[], str | Awaitable[str]]
# API versions without a date: one path for all deployments; the body names the deployment.
VERSIONLESS = ("", "v1", "latest", "preview")


def build_base_url(endpoint: str, version: str, deployment: str, api: str) -> str:
    """Return the URL before `/chat/completions` or `/responses`."""
    url = parse_base_url(endpoint, "azure_endpoint")
    path = url.path.rstrip("/")
    for tail in ("/openai/v1", "/openai"):
        path = path.removesuffix(tail)
    url = url.with_path(f"{path}/openai").with_query(None)
    if version in VERSIONLESS:
        url = url / "v1"
        return str(url.with_query({"api-version": version}) if version == "preview" else url)
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}(-preview)?", version):
        raise ConfigError(
            f"api_version {version!r} is none of Azure's: it is a date such as 2024-10-21, or v1.",
            param="api_version",
        )
    # The responses API has one path for all deployments; the body names the deployment.
    resource_url: URL = url if api == "responses" else url / "deployments" / deployment
    return str(resource_url.with_query({"api-version": version}))


def load_token_provider(target: str) -> TokenProvider:
    """Load the function at `module:attribute`, which returns a Microsoft Entra token per call."""
    try:
        loaded: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"token_provider: {error.message}", param="token_provider") from error
    if not callable(loaded):
        raise ConfigError(f"token_provider: {target} cannot be called.", param="token_provider")
    provider: TokenProvider = loaded
    return provider


async def fetch_token(provider: TokenProvider, seconds: float) -> str:
    """Call the provider and return its token; raise UpstreamDenied on failure or after `seconds`."""
    # In a task, so that any exception of user code can be inspected.
    task = asyncio.ensure_future(_call_provider(provider))
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
    if not done:
        raise faults.token_provider_error(f"took longer than {seconds:g} s")
    if (error := task.exception()) is not None:
        raise faults.token_provider_error(f"failed ({type(error).__name__})") from error
    return task.result()


async def _call_provider(provider: TokenProvider) -> str:
    """Call the provider; a sync function runs in a thread, so that it does not block the loop."""
    if inspect.iscoroutinefunction(provider):
        return str(await provider())
    result = await asyncio.to_thread(provider)
    return str(await result if inspect.isawaitable(result) else result)
