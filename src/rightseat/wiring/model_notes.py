"""ModelNotes: what a model is good for and what it is not, and the next better model for this machine."""

from __future__ import annotations

from msgspec import Struct

from rightseat.models.llamacpp.curated import suggest_model
from rightseat.models.llamacpp.machine import get_machine
from rightseat.types.language import Language
from rightseat.types.model import Capabilities, Model, ModelInfo
from rightseat.wiring.lookup import LOCAL

Line = dict[Language, str]

EMBEDDED_NAME = "SmolLM2-135M-Instruct"
# Measured in docs/embedded-model.md.
_EMBEDDED_LINES: tuple[Line, ...] = (
    {
        "en": "Good for: calling tools and answering from their results; short questions in English.",
        "zh": "适合：调用工具并根据结果回答；简短的英文问题。",
    },
    {
        "en": "Not for: reasoning, long texts, general knowledge in Chinese.",
        "zh": "不适合：推理、长文本、中文常识问题。",
    },
)
_SCRIPT_LINES: tuple[Line, ...] = (
    {
        "en": "Good for: trying the front ends with a tool call, an approval and a chart.",
        "zh": "适合：用工具调用、批准和图表试用各种前端。",
    },
    {
        "en": "Not for: any other question. A script answers, not a model.",
        "zh": "不适合：其他问题。回答来自脚本，而不是模型。",
    },
)


class ModelNotes(Struct, frozen=True):
    """Name of a model and lines about it; `next_model` is a name for `rightseat models pull`."""

    name: str
    lines: tuple[Line, ...] = ()
    next_model: str | None = None

    @property
    def upgrade_commands(self) -> tuple[str, ...]:
        name = self.next_model
        return (f"rightseat models pull {name}", f"rightseat models use {name}") if name else ()

    def join_lines(self) -> str:
        """Return the English lines as one text, for an agent's card."""
        return " ".join(line["en"] for line in self.lines)


def describe_model(info: ModelInfo, capabilities: Capabilities | None = None, weights_bytes: int = 0) -> ModelNotes:
    """Describe a model by its provider and name. `weights_bytes`: size of a local model's file."""
    if is_embedded(info):
        return ModelNotes(EMBEDDED_NAME, _EMBEDDED_LINES, _suggest())
    if (info.provider, info.model) == ("scripted", "demo"):
        return ModelNotes(info.model, _SCRIPT_LINES, _suggest())
    next_model = _suggest(weights_bytes) if info.provider == LOCAL and weights_bytes else None
    return ModelNotes(info.model, tuple(_list_capabilities(capabilities)) if capabilities else (), next_model)


def describe_running_model(model: Model) -> ModelNotes:
    size = model.weights.stat().st_size if model.weights is not None and model.weights.is_file() else 0
    return describe_model(model.info, model.capabilities, size)


def is_embedded(info: ModelInfo) -> bool:
    return (info.provider, info.model) == (LOCAL, LOCAL)


def _suggest(larger_than: int = 0) -> str | None:
    machine = get_machine()
    return suggest_model(machine.memory, cores=machine.cores, larger_than=larger_than)


def _list_capabilities(capabilities: Capabilities) -> list[Line]:
    """Return what a model takes, and what it does not, as far as that is known."""
    context = capabilities.context
    if context is None:
        # A model that is not in the table: its server decides.
        return []
    images = capabilities.supports_images and not capabilities.text_only
    takes = {"tools": ("工具", capabilities.tools), "images": ("图片", images)}
    known = [(name, chinese) for name, (chinese, able) in takes.items() if able]
    lacking = [(name, chinese) for name, (chinese, able) in takes.items() if not able]
    lines: list[Line] = [
        {
            "en": f"Takes: {', '.join(['text', *(name for name, _ in known)])}; {context} tokens of context.",
            "zh": f"支持：{'、'.join(['文本', *(chinese for _, chinese in known)])}；上下文 {context} 个 token。",
        }
    ]
    if lacking:
        lines.append(
            {
                "en": f"Does not take: {', '.join(name for name, _ in lacking)}.",
                "zh": f"不支持：{'、'.join(chinese for _, chinese in lacking)}。",
            }
        )
    return lines
