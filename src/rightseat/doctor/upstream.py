"""Check that the servers behind the models can be reached. No key is sent: any reply will do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from yarl import URL

from rightseat.doctor.client import REACH_SECONDS, ProbeClient, Unreachable
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.types.model import Model


async def check_upstreams(models: Mapping[str, Model]) -> AsyncIterator[CheckResult]:
    """Check each distinct `address` of the remote models once."""
    addresses = {name: getattr(model, "address", None) for name, model in models.items()}
    for address in dict.fromkeys(address for address in addresses.values() if isinstance(address, str)):
        names = [name for name, where in addresses.items() if where == address]
        versioned = any(getattr(models[name], "versioned", True) for name in names)
        yield await check_address(address, ", ".join(names), versioned=versioned)


async def check_address(address: str, names: str, *, versioned: bool) -> CheckResult:
    """Check one address. `versioned`: it ends with the API version, so /models should exist below it."""
    url = URL(address)
    # The query may carry a key.
    public_url = str(url.with_query(None))
    what = f"reach {url.host}"
    try:
        async with ProbeClient(public_url) as client:
            reply = await client.send("GET", "/models", seconds=REACH_SECONDS)
    except Unreachable as error:
        fix = (
            f"start the server at {public_url}, or correct the address of {names}: base_url, or its variable"
        )
        return broken(what, f"{public_url}: {error}", fix)
    if reply.status >= 500:
        return broken(what, f"{public_url} answers HTTP {reply.status}", "look at that server's log")
    if reply.status == 404 and versioned:
        fix = (
            "" if url.path.rstrip("/").endswith("/v1") else f"if answers fail, try base_url = {public_url}/v1"
        )
        return skipped(what, f"{public_url} answers, but has no /models", fix)
    return good(what, f"{public_url} answers")
