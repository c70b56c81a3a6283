"""The model of this server on its page: which one answers, what is found on this machine, a trial, a change.

Changes are for a client on this machine where no keys are set, else for the owners of [auth] admins; and only for the
server's own page, or a program: a page of another origin is refused, whatever [server] cors allows.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rightseat.config.edit import ConfigEdit, format_table, replace_table
from rightseat.config.load import CONFIG_FILE, load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import Config, ModelSettings
from rightseat.errors import CallerError, ConfigError, Conflict, Forbidden, NotJson
from rightseat.http.endpoint import Request, Route, decode_body
from rightseat.http.reply import Reply, ResponseStart
from rightseat.models.openai.known_servers import KNOWN_SERVERS
from rightseat.server.playground.model_fetch import (
    NDJSON,
    FetchForm,
    ModelFetches,
    StopForm,
    describe_local_models,
    stream_fetch,
)
from rightseat.server.playground.model_form import ModelForm, keep_key
from rightseat.server.playground.model_trial import try_model
from rightseat.types.json_values import encode_json
from rightseat.types.streams import closing
from rightseat.wiring import default_model
from rightseat.wiring.default_model import VENDORS, find_model_table
from rightseat.wiring.model_notes import describe_running_model
from rightseat.wiring.models import make_configured_model
from rightseat.wiring.runtime import Runtime
from rightseat.wiring.storage import SQLITE, data_folder

PROBE_SECONDS = 1.5
KEYED_SECONDS = 6.0
MAX_LISTED = 300
MAX_NAME = 200
ADDRESS_EXAMPLES = {"openai": "https://api.openai.com/v1", "azure": "https://NAME.openai.azure.com"}
NO_ADMIN = (
    "Only an administrator may change this server's model: name your key in rightseat.toml, as "
    '[auth] admins = ["NAME"]; without keys, open the page on the machine of the server.'
)


class ModelControl(Protocol):
    """The process that serves: its configuration, and the change of its model."""

    config: Config
    page_model: ModelSettings | None

    @property
    def is_worker(self) -> bool: ...
    async def use_model(self, settings: ModelSettings | None, /) -> None: ...


class FoundModel(Struct, frozen=True):
    """A model that a server on this machine has."""

    name: str
    bytes: int = 0


def check_admin(request: Request, control: ModelControl | None) -> ModelControl:
    """Return what changes the model. Raises Forbidden for anyone who may not."""
    origin = request.headers.get("origin")
    is_foreign = origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()
    if is_foreign or request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Forbidden("Only this server's own page may change its model.")
    if not request.is_admin:
        raise Forbidden(NO_ADMIN)
    if request.method == "POST" and not is_json(request):
        raise NotJson("Send the body with `Content-Type: application/json`.")
    if control is None:
        raise Forbidden("This server is part of another program, which chooses its model. Change it there.")
    return control


def is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


async def describe_models(
    runtime: Runtime, control: ModelControl | None, fetches: ModelFetches, request: Request
) -> dict[str, Any]:
    """Return the model that answers, and where one can be connected; what is on this machine only for an admin."""
    assistant = runtime.get_assistant(None)
    notes = describe_running_model(assistant.model) if assistant else None
    model = assistant.model if assistant else None
    now = {
        "name": notes.name if notes else "",
        "provider": model.info.provider if model else "",
        "lines": notes.lines if notes else (),
        "tools": bool(model and model.capabilities.tools),
        "images": bool(model and model.capabilities.supports_images),
        "context": model.capabilities.context if model else None,
    }
    try:
        control = check_admin(request, control)
    except Forbidden as error:
        why = "part" if request.is_admin else "admin"
        return {"now": now, "admin": False, "why": why, "text": error.message, "providers": []}
    config = control.config
    return {
        "now": now | {"chosen": control.page_model is not None},
        "admin": True,
        "providers": await find_providers(),
        "local": await asyncio.to_thread(describe_local_models, fetches),
        "file": str(find_config_file(config)),
        "several": control.is_worker,
        "fallback": not (default_model.find_engine_problem() or default_model.find_weights_problem()),
        "override": config.model_from if control.page_model is None else "",
    }


async def find_providers() -> list[dict[str, Any]]:
    """Return what is known of each provider here: models on this machine, keys in the environment."""
    ollama, lmstudio = await asyncio.gather(
        list_ollama_models(), list_served_models(KNOWN_SERVERS["lmstudio"].base_url)
    )
    presets = {vendor.kind if "AZURE" not in vendor.variables[0] else "azure": vendor for vendor in VENDORS}
    variables = {
        name: next((variable for variable in vendor.variables if os.environ.get(variable)), "")
        for name, vendor in presets.items()
    }
    local = [
        {"name": "ollama", "base_url": KNOWN_SERVERS["ollama"].find_base_url(), "models": ollama},
        {"name": "lmstudio", "base_url": KNOWN_SERVERS["lmstudio"].base_url, "models": lmstudio},
    ]
    vendors = [
        {
            "name": name,
            "variable": variables[name],
            "models": [FoundModel(presets[name].model)],
            "example": ADDRESS_EXAMPLES.get(name, ""),
        }
        for name in ("openai", "anthropic", "google", "azure")
    ]
    files: list[dict[str, Any]] = [
        {"name": "gguf", "models": await asyncio.to_thread(list_local_files)},
        {"name": "compatible", "example": KNOWN_SERVERS["vllm"].base_url},
    ]
    return [*local, *vendors, *files]


def list_local_files() -> list[FoundModel]:
    """Return the paths of the models that `rightseat models pull` has fetched."""
    from rightseat.models.llamacpp import pulled

    return [FoundModel(str(model.path), model.size) for model in pulled.list_pulled() if model.path is not None]


async def list_ollama_models() -> list[FoundModel] | None:
    """Return Ollama's models; None where it does not run."""
    base = KNOWN_SERVERS["ollama"].find_base_url().removesuffix("/v1")
    found = await fetch_json(f"{base}/api/tags")
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, list):
        return None
    named = [model for model in models if isinstance(model, dict) and isinstance(model.get("name"), str)]
    sizes = (model.get("size") for model in named)
    return [
        FoundModel(model["name"][:MAX_NAME], size if isinstance(size, int) else 0)
        for model, size in zip(named[:MAX_LISTED], sizes, strict=False)
    ]


async def list_served_models(base_url: str, key: str = "") -> list[FoundModel] | None:
    """Return the models of a server with OpenAI's API; None where none answers."""
    found = await fetch_json(f"{base_url.rstrip('/')}/models", key)
    models = found.get("data") if isinstance(found, dict) else None
    if not isinstance(models, list):
        return None
    names = (model.get("id") for model in models if isinstance(model, dict))
    return [FoundModel(name[:MAX_NAME]) for name in names if isinstance(name, str)][:MAX_LISTED]


async def fetch_json(url: str, key: str = "") -> Any:
    """GET a small JSON document; None for anything else. A redirect is not followed."""
    # Lazy: the doctor's imports are heavy.
    from rightseat.doctor.client import ProbeClient, Unreachable

    client = ProbeClient(url, key or None)
    try:
        reply = await client.send("GET", "", seconds=KEYED_SECONDS if key else PROBE_SECONDS)
        return msgspec.json.decode(reply.body) if reply.status == 200 else None
    except (Unreachable, msgspec.DecodeError):
        return None
    finally:
        client.close()


def find_config_file(config: Config) -> Path:
    return config.path.absolute() if config.path else Path(CONFIG_FILE).absolute()


def read_form(request: Request, control: ModelControl, *, is_named: bool = True) -> ModelForm:
    """Return the posted form. A key that was typed before for the same address need not be typed again."""
    form = decode_body(request.body, ModelForm).check(is_named=is_named)
    used = control.page_model
    if form.api_key or used is None:
        return form
    settings = form.make_settings()
    address = {name: value for name, value in used.options.items() if name != "api_key"}
    same = used.spec.partition(":")[0] == settings.spec.partition(":")[0] and address == settings.options
    kept = used.options.get("api_key")
    return msgspec.structs.replace(form, api_key=kept.reveal()) if same and isinstance(kept, Secret) else form


async def list_models(form: ModelForm) -> dict[str, Any]:
    """Return the models of the server that the form names; `models` is null where it does not tell."""
    if form.provider not in ("ollama", "lmstudio", "openai", "compatible"):
        return {"models": None}
    known = KNOWN_SERVERS.get(form.provider)
    url = form.base_url.strip() or (known.find_base_url() if known else "https://api.openai.com/v1")
    key = form.api_key or (
        os.environ.get("OPENAI_API_KEY", "") if form.provider == "openai" and not form.base_url else ""
    )
    return {"models": await list_served_models(url, key)}


async def stream_trial(form: ModelForm, control: ModelControl) -> Reply:
    """Send each check as a line of JSON as it ends."""
    yield ResponseStart(200, ((b"content-type", NDJSON), (b"cache-control", b"no-store")))
    async with closing(try_model(form.make_settings(), control.config)) as lines:
        async for line in lines:
            yield encode_json(line) + b"\n"


def check_fetch(control: ModelControl) -> None:
    """Raise Conflict where the next request may reach another process, which knows nothing of a download."""
    if control.is_worker:
        raise Conflict("Several workers serve here. Fetch the model in a terminal: rightseat models pull NAME")


async def preview_table(form: ModelForm, control: ModelControl) -> dict[str, Any]:
    """Return the table as it would be written; the key appears as its place."""
    reference = f"file:{data_folder(control.config) / 'keys'}/{form.provider}-….key" if form.api_key else ""
    return {"text": form.format_table(find_model_table(control.config) or "default", reference)}


async def use_model(form: ModelForm, control: ModelControl) -> dict[str, Any]:
    """Answer new messages with the form's model, and write it to the file where the form asks for it."""
    config = control.config
    if config.has_agents_only or config.default_elsewhere:
        raise Conflict("An agent or a flow answers by default here, and no model. Change `default` in rightseat.toml.")
    try:
        if not form.write:
            return await use_until_restart(form, control)
        return await write_and_use(form, control)
    except ConfigError as error:
        # The form is wrong, not this server.
        raise CallerError(error.message) from error


async def use_until_restart(form: ModelForm, control: ModelControl) -> dict[str, Any]:
    if control.is_worker:
        raise Conflict(
            "Several workers serve here, and this change would reach one of them. Write it to rightseat.toml: then all "
            "of them use the model."
        )
    await control.use_model(form.make_settings())
    return {"model": form.model, "written": ""}


async def write_and_use(form: ModelForm, control: ModelControl) -> dict[str, Any]:
    """Write the table, then read the file as after any change of it. Where that fails, the file is as it was."""
    settings = form.make_settings()
    named_elsewhere = control.config.model_from if control.page_model is None else ""
    await (await asyncio.to_thread(make_configured_model, settings, control.config)).close()
    edit = await asyncio.to_thread(make_edit, form, control.config)
    await asyncio.to_thread(edit.apply)
    try:
        # What the command line names counts more than the file: until the next start this choice does.
        await control.use_model(settings if named_elsewhere else None)
    except BaseException:
        await asyncio.to_thread(edit.undo)
        raise
    return {"model": form.model, "written": str(edit.path), "override": named_elsewhere}


def make_edit(form: ModelForm, config: Config) -> ConfigEdit:
    path = find_config_file(config)
    if path.exists():
        config = load_config(path, env={})
        text = path.read_bytes().decode()
    else:
        text = ""
    name = find_model_table(config)
    if not name:
        raise Conflict(
            f"[assistants.{config.default_assistant}] in {path} names its model itself. Change `model` there."
        )
    folder = data_folder(config)
    reference = f"file:{keep_key(folder, form.provider, form.api_key)}" if form.api_key else ""
    if not text and config.store.kind == SQLITE and not os.environ.get("RIGHTSEAT_DATA"):
        # Without it a file would give the server another data folder, and the conversations would seem lost.
        text = "# Written by the page of rightseat.\n\n" + format_table(("store",), {"path": str(folder)})
    return ConfigEdit(path, replace_table(text, ("models", name), form.make_table(reference)))


def make_model_routes(
    runtime: Callable[[], Runtime],
    control: Callable[[], ModelControl | None],
    reply_json: Callable[[Awaitable[Any]], Reply],
) -> tuple[Route, ...]:
    """Make the routes of /playground/models. `reply_json` makes a reply of an answer or its error."""

    fetches = ModelFetches()

    def serve_models(request: Request, host: object) -> Reply:
        return reply_json(describe_models(runtime(), control(), fetches, request))

    def serve_list(request: Request, host: object) -> Reply:
        found = check_admin(request, control())
        return reply_json(list_models(read_form(request, found, is_named=False)))

    def serve_trial(request: Request, host: object) -> Reply:
        found = check_admin(request, control())
        return stream_trial(read_form(request, found), found)

    def serve_preview(request: Request, host: object) -> Reply:
        found = check_admin(request, control())
        return reply_json(preview_table(read_form(request, found), found))

    def serve_use(request: Request, host: object) -> Reply:
        found = check_admin(request, control())
        return reply_json(use_model(read_form(request, found), found))

    def serve_fetch(request: Request, host: object) -> Reply:
        check_fetch(check_admin(request, control()))
        return stream_fetch(fetches.start(decode_body(request.body, FetchForm)))

    def serve_stop(request: Request, host: object) -> Reply:
        check_fetch(check_admin(request, control()))
        decode_body(request.body, StopForm)
        return reply_json(fetches.stop())

    return (
        Route("GET", "/playground/models", serve_models, summary="The model that answers, and those found here"),
        Route("POST", "/playground/models-list", serve_list, body_type=ModelForm, summary="The models of a server"),
        Route("POST", "/playground/models-test", serve_trial, body_type=ModelForm, summary="Try a model by real calls"),
        Route("POST", "/playground/models-preview", serve_preview, body_type=ModelForm, summary="A model as TOML"),
        Route("POST", "/playground/models-use", serve_use, body_type=ModelForm, summary="Answer with a model from now"),
        Route("POST", "/playground/models-fetch", serve_fetch, body_type=FetchForm, summary="Download a local model"),
        Route("POST", "/playground/models-fetch-stop", serve_stop, body_type=StopForm, summary="Stop that download"),
    )
