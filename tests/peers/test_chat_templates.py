"""Published chat templates, rendered by us: as the usual library renders them, and in the format of their family.

The texts come from two packages, and this repository has none of them: Hugging Face's table of the templates of
well-known GGUF files, and the source archive of llama-cpp-python, which holds llama.cpp's collection. Not obtained:
Functionary v2 and v3. Templates of our own in their shape are in tests/unit.
"""

import ast
import functools
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from checks.packages import run_with_retries
from rightseat.models.llamacpp.formats import detect_format
from rightseat.models.llamacpp.template import load_template
from rightseat.types.messages import Message, ToolCall, text_message
from tests.contract.formats.cases import FIND_CALL, TOOLS, FormatCase
from tests.contract.formats.members import MEMBERS
from tests.peers.install import hold_lock
from tests.peers.prerequisites import get_or_skip, require
from tests.unit.models.llamacpp.formats.prompts import make_template, parse_calls, plan_prompt, read_fixed_clock
from tests.unit.models.llamacpp.gbnf import Grammar

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

TABLE = "node_modules/@huggingface/ollama-utils/src/chat-template-automap.ts"
ENTRY = re.compile(r"""model: "library/([^"]+)",\s*gguf:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
FORMATS = {
    "llama3.1:8b": "llama-3.1",
    "llama3.2:3b": "llama-3.1",
    "qwen2.5:0.5b": "hermes",
    "qwen2.5-coder:1.5b": "hermes",
    "qwen3:0.6b": "hermes",
    "qwq:32b": "hermes",
    "deepseek-r1:8b": "deepseek",
    "firefunction-v2:70b": "firefunction",
    # Without tools here: their tool templates are second ones that the table lacks. Command R7B's first one writes
    # tools only where there are documents.
    "command-r7b:7b": "generic",
    "hermes3:70b": "generic",
    "mixtral:8x7b": "generic",
    "llama3:8b": "generic",
    "phi3:3.8b": "generic",
}
COLLECTION = {
    "meta-llama-Llama-3.1-8B-Instruct": "llama-3.1",
    "meta-llama-Llama-3.2-3B-Instruct": "llama-3.1",
    "meta-llama-Llama-3.3-70B-Instruct": "llama-3.1",
    "meetkai-functionary-medium-v3.1": "functionary-v3.1",
    "meetkai-functionary-medium-v3.2": "functionary-v3.2",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral",
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen-Qwen3-0.6B": "hermes",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "command-r7b",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek",
}
# They need tools, or begin the first `>>>` of an answer themselves.
NOT_PLAIN = ("functionary-medium-v3.2", "-tool_use")
SYSTEM, QUESTION = text_message("system", "Be brief."), text_message("user", "What is a house called?")
CALL = Message("assistant", calls=(ToolCall("call12345", *FIND_CALL),))
RESULT = text_message("tool", '{"found": "maison"}', call_id="call12345", name="find_word")


@functools.cache
def read_table() -> dict[str, str]:
    text = (require("chat-templates") / TABLE).read_text("utf-8")
    # Escapes of these strings are those of Python too.
    return {name: ast.literal_eval(literal) for name, literal in ENTRY.findall(text)}


@functools.cache
def read_collection() -> dict[str, str]:
    folder = require("llama-templates")
    archive = get_or_skip("llama.cpp's templates", lambda: fetch_archive(folder))
    with tarfile.open(archive) as files:
        members = [item for item in files if "/models/templates/" in item.name and item.name.endswith(".jinja")]
        return {Path(item.name).stem: read_member(files, item) for item in members}


def read_member(files: tarfile.TarFile, item: tarfile.TarInfo) -> str:
    data = files.extractfile(item)
    assert data is not None
    return data.read().decode()


def fetch_archive(folder: Path) -> Path:
    """Download the source archive by its hash, once; its metadata needs a package that the peer has."""
    with hold_lock("llama-templates-sdist"):
        if not (archives := list((folder / "sdist").glob("*.tar.gz"))):
            python = str(folder / "bin" / "python")
            options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes")
            lock = Path(__file__).with_name("llama-templates") / "sdist.txt"
            download = ("-m", "pip", "download", *options, "-r", str(lock), "-d", str(folder / "sdist"))
            run_with_retries((python, *download))
            archives = list((folder / "sdist").glob("*.tar.gz"))
    return archives[0]


def render_plainly(source: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> str:
    """Render as the usual library does: its environment, its functions, no care for anything else."""

    def raise_exception(message: str) -> None:
        raise ValueError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: read_fixed_clock().strftime(form)
    template = environment.from_string(source)
    return template.render(
        messages=messages,
        tools=tools,
        add_generation_prompt=True,
        bos_token="<s>",
        eos_token="</s>",
        # Llama 3.1 takes the date, without which it writes one of 2024.
        date_string=read_fixed_clock().strftime("%d %b %Y"),
    )


@pytest.mark.demand("llamacpp.published_templates")
@pytest.mark.parametrize("name", FORMATS)
async def test_a_published_template_gets_the_format_of_its_family(name: str) -> None:
    template = await load_template(read_table()[name], bos="<s>", eos="</s>")
    assert detect_format(template.source, template.capabilities).name == FORMATS[name]


@pytest.mark.demand("llamacpp.published_templates")
@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name] != "firefunction"])
def test_a_plain_chat_is_rendered_as_elsewhere(name: str) -> None:
    template = make_template(read_table()[name])
    format = detect_format(template.source, template.capabilities)
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION.text}]
    if template.capabilities.system:
        messages.insert(0, {"role": "system", "content": "Be brief."})
    ours = plan_prompt(format, template, *((SYSTEM,) if template.capabilities.system else ()), QUESTION, tools=())[1]
    assert ours == render_plainly(template.source, messages, None)


WITH_TOOLS = [name for name, format in FORMATS.items() if format in ("llama-3.1", "hermes")]


@pytest.mark.demand("llamacpp.published_templates")
@pytest.mark.parametrize("name", WITH_TOOLS)
def test_tools_are_in_the_prompt_and_calls_come_back(name: str) -> None:
    template = make_template(read_table()[name])
    format = detect_format(template.source, template.capabilities)
    plan, prompt = plan_prompt(format, template, SYSTEM, QUESTION, tools=TOOLS)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION.text},
    ]
    if not plan.template_variables:
        assert prompt == render_plainly(template.source, messages, list(plan.tools))
    assert "find_word" in prompt
    assert "Looks a word up." in prompt
    answer = MEMBERS[format.name].write(FormatCase("", calls=(FIND_CALL,)))
    # A prompt that opens a thought: the answer ends it first.
    answer = f"Hm.\n</think>\n\n{answer}" if prompt.rstrip().endswith("<think>") else answer
    assert Grammar.parse(plan.grammar).accepts(answer)
    assert parse_calls(plan, answer) == [FIND_CALL]


@pytest.mark.demand("llamacpp.published_templates")
@pytest.mark.parametrize("name", FORMATS)
def test_a_call_and_its_result_are_in_the_next_prompt(name: str) -> None:
    template = make_template(read_table()[name])
    format = detect_format(template.source, template.capabilities)
    plan, prompt = plan_prompt(format, template, SYSTEM, QUESTION, CALL, RESULT, tools=TOOLS)
    places = [prompt.index(text) for text in (QUESTION.text, "Haus")]
    assert places == sorted(places)
    assert "maison" in prompt[places[1] :]
    assert plan.grammar


@pytest.mark.demand("llamacpp.published_templates")
@pytest.mark.parametrize("name", COLLECTION)
def test_llama_cpps_collection(name: str) -> None:
    template = make_template(read_collection()[name])
    format = detect_format(template.source, template.capabilities)
    assert format.name == COLLECTION[name]
    plan, prompt = plan_prompt(format, template, SYSTEM, QUESTION, tools=TOOLS)
    assert "find_word" in prompt
    answer = MEMBERS[format.name].write(FormatCase("", calls=(FIND_CALL,)))
    answer = f"Hm.\n</think>\n\n{answer}" if prompt.rstrip().endswith("<think>") else answer
    assert Grammar.parse(plan.grammar).accepts(answer)
    assert parse_calls(plan, answer) == [FIND_CALL]
    later = plan_prompt(format, template, SYSTEM, QUESTION, CALL, RESULT, tools=TOOLS)[1]
    assert 0 < later.index("Haus") < later.index("maison")
    if not name.endswith(NOT_PLAIN):
        messages = [{"role": "system", "content": SYSTEM.text}, {"role": "user", "content": QUESTION.text}]
        plain = plan_prompt(format, template, SYSTEM, QUESTION, tools=())[1]
        assert plain == render_plainly(template.source, messages, None)
