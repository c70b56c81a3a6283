"""A shop's own FastAPI app with a copilot in it: own login, own page, and one tool that knows who asks."""

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Body, FastAPI, HTTPException
from fastapi.responses import FileResponse

import rightseat

# What your app has already: users, their data, and sessions.
PASSWORDS = {"ada": "engine", "grace": "compiler"}
ORDERS = {"ada": ["A7: a desk lamp, on its way"], "grace": ["B2: a bookshelf, packed", "C9: an armchair, delivered"]}
sessions: dict[str, str] = {}


def find_user(headers: Mapping[str, str]) -> str | None:
    """Return who is logged in with this request; None for nobody."""
    return sessions.get(headers.get("authorization", "").removeprefix("Bearer "))


@rightseat.tool
def list_my_orders(ctx: rightseat.ToolContext) -> list[str]:
    """List the orders of the person who asks, each with its state."""
    return ORDERS[ctx.turn.owner.name]


runtime = rightseat.Runtime(
    model=os.environ.get("RIGHTSEAT_MODEL", "local"),
    tools=[list_my_orders],
    system="You help the customers of a shop. Look at their orders before you speak of them.",
)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with runtime:
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/copilot", rightseat.asgi(runtime, authenticate=find_user))


@app.post("/login")
def log_in(user: str = Body(), password: str = Body()) -> dict[str, str]:
    if user not in PASSWORDS or not secrets.compare_digest(PASSWORDS[user].encode(), password.encode()):
        raise HTTPException(401, "Wrong name or password.")
    token = secrets.token_urlsafe(24)
    sessions[token] = user
    return {"token": token}


@app.get("/")
def show_page() -> FileResponse:
    return FileResponse(Path(__file__).with_name("page.html"))
