"""Check that the servers behind the models can be reached. No key is sent: any reply will do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from yarl import URL

from rightseat.doctor.client import REACH_SECONDS, Client, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.types.model import Model


async def reach(models: Mapping[str, Model]) -> AsyncIterator[Line]:
    """Check each distinct `address` of the remote models once."""
    found = {name: getattr(model, "address", None) for name, model in models.items()}
    for address in dict.fromkeys(address for address in found.values() if isinstance(address, str)):
        names = [name for name, where in found.items() if where == address]
        versioned = any(getattr(models[name], "versioned", True) for name in names)
        yield await ask(address, ", ".join(names), versioned=versioned)


async def ask(address: str, names: str, *, versioned: bool) -> Line:
    """Check one address. `versioned`: it ends with the API version, so /models should exist below it."""
    url = URL(address)
    # The query may carry a key.
    shown = str(url.with_query(None))
    what = f"reach {url.host}"
    try:
        async with Client(shown) as client:
            reply = await client.send("GET", "/models", seconds=REACH_SECONDS)
    except Unreachable as error:
        fix = f"start the server at {shown}, or correct the address of {names}: base_url, or its variable"
        return broken(what, f"{shown}: {error}", fix)
    if reply.status >= 500:
        return broken(what, f"{shown} answers HTTP {reply.status}", "look at that server's log")
    if reply.status == 404 and versioned:
        fix = "" if url.path.rstrip("/").endswith("/v1") else f"if answers fail, try base_url = {shown}/v1"
        return skipped(what, f"{shown} answers, but has no /models", fix)
    return good(what, f"{shown} answers")
