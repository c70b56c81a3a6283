"""What llama-server's /props and /slots tell, without paths of this machine and without what others asked.

Fields are copied by name: a newer engine may tell more than strangers should know.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from rightseat.models.llamacpp.client import LlamaServerClient
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.types.model import MEDIA_MARKER

_PROPS = ("total_slots", "model_ftype", "chat_template_caps", "build_info", "is_sleeping")
_PARAMS = (
    *("seed", "temperature", "dynatemp_range", "dynatemp_exponent", "top_k", "top_p", "min_p", "top_n_sigma"),
    *("xtc_probability", "xtc_threshold", "typical_p", "repeat_last_n", "repeat_penalty", "presence_penalty"),
    *("frequency_penalty", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "mirostat"),
    *("mirostat_tau", "mirostat_eta", "n_keep", "n_probs", "min_keep", "ignore_eos", "samplers", "stream"),
)
_SLOT = ("id", "id_task", "n_ctx", "speculative", "is_processing")
_NEXT_TOKEN = ("has_next_token", "has_new_line", "n_remain", "n_decoded")


async def get_props(
    client: LlamaServerClient, name: str, sources: TemplateSources, default_max_tokens: int
) -> dict[str, Any]:
    """Return the properties of the engine; `sources` has the template that is used, which may not be the engine's."""
    props = await client.get_props()
    settings = _as_object(props.get("default_generation_settings"))
    # Older servers have the parameters beside n_ctx.
    params = _pick(_as_object(settings.get("params")) or settings, _PARAMS)
    modalities = _as_object(props.get("modalities"))
    return {
        "default_generation_settings": {
            "params": params | {"n_predict": default_max_tokens, "max_tokens": default_max_tokens},
            "n_ctx": settings.get("n_ctx"),
        },
        **_pick(props, _PROPS),
        "model_alias": name,
        "model_path": _get_file_name(props.get("model_path")) or name,
        "modalities": {kind: bool(modalities.get(kind)) for kind in ("vision", "audio")},
        "media_marker": MEDIA_MARKER,
        "chat_template": sources.default,
        "bos_token": sources.bos,
        "eos_token": sources.eos,
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": False,
    }


async def list_slots(client: LlamaServerClient) -> list[dict[str, Any]]:
    return [_format_slot(slot) for slot in await client.list_slots()]


def _format_slot(slot: dict[str, Any]) -> dict[str, Any]:
    state = _pick(slot, _SLOT)
    next_token = slot.get("next_token")
    # A list in newer servers.
    first = next_token[0] if isinstance(next_token, list) and next_token else next_token
    return state | ({"next_token": _pick(first, _NEXT_TOKEN)} if isinstance(first, dict) else {})


def _pick(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _get_file_name(path: Any) -> str:
    return PurePath(path.replace("\\", "/")).name if isinstance(path, str) else ""
