"""Chat templates: what they find, what they can, and which are refused."""

import asyncio
import datetime
import resource

import pytest
from msgspec.structs import replace

from rightseat.errors import CallerError, TemplateRefused
from rightseat.models.llamacpp import template
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.gguf import GgufHeader
from rightseat.models.llamacpp.sandbox import TemplateLimitExceeded, TemplateSandbox
from rightseat.models.llamacpp.template import OPENING_USER_TEXT, ChatTemplate, repair_source, to_template_messages
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.messages import Message, ToolCall, text_message

# Templates are judged in child processes.
pytestmark = pytest.mark.io

NOTHING = ControlTokens(())
PLAIN_TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"a": 1}}}
CALLING = Message("assistant", calls=(ToolCall("call_1", "add", '{"a": "é<"}'),))
RESULT = text_message("tool", "3", call_id="call_1", name="add")


def read_fixed_clock() -> datetime.datetime:
    return datetime.datetime(2026, 2, 3, 4, 5, 6)


def make_template(source: str) -> ChatTemplate:
    """Not proven: these sources are the test's own."""
    return ChatTemplate(source, TemplateCapabilities(system=True), bos="<s>", eos="</s>", clock=read_fixed_clock)


def render_source(source: str, *messages: Message) -> str:
    return make_template(source).render(messages or [text_message("user", "hi")], control_tokens=NOTHING)


@pytest.mark.demand("llamacpp.templates_model_own_chat")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("{{ strftime_now('%d %b %Y') }}", "03 Feb 2026"),
        ("{{ date_string }}|{{ todays_date }}|{{ cutting_knowledge_date }}", "03 Feb 2026|2026-02-03|December 2023"),
        ("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "TrueTrueTrue"),
        ("{{ {'b': 'é<', 'a': [1]} | tojson }}", '{"b": "é<", "a": [1]}'),
        ("{{ 'a' | safe + '<\"' }}", 'a<"'),
        ("{{ {'a': 1} | tojson(indent=2) }}", '{\n  "a": 1\n}'),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "hi"),
        ("{% for i in 'abc' %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% endfor %}", "1False32False33True3"),
        (
            "{% set n = namespace(a=[]) %}{% for i in 'ab' %}{{ n.a.append(i) or '' }}{% endfor %}{{ n.a }}",
            "['a', 'b']",
        ),
        ("{{ 'a' ~ 1 ~ none ~ nothing }}", "a1None"),
    ],
)
def test_templates_find_what_they_expect(source: str, expected: str) -> None:
    assert render_source(source) == expected


def test_a_users_text_is_not_a_template() -> None:
    assert "{{ 7*7 }}" in render_source(PLAIN_TEMPLATE, text_message("user", "{{ 7*7 }}"))


def test_tools_and_names_of_ones_own() -> None:
    found = make_template("{{ tools[0].function.name }}{{ mood }}{{ add_generation_prompt }}").render(
        [text_message("user", "hi")],
        control_tokens=NOTHING,
        tools=[TOOL],
        add_generation_prompt=False,
        variables={"mood": "calm"},
    )
    assert found == "addcalmFalse"


def test_a_template_that_refuses_a_conversation() -> None:
    with pytest.raises(CallerError, match="does not take this conversation") as caught:
        render_source("{{ raise_exception('my own words') }}")
    assert "own words" not in str(caught.value)


LLAMA_LIKE = """{{ bos_token }}{% for m in messages %}{% if m.tool_calls %}{{ m.tool_calls[0].function.name }}
{{- m.tool_calls[0].function.arguments | tojson }}{% else %}{{ m.role }} {{ m.content }}
{% endif %}{% endfor %}{{ tools | tojson if tools }}{% if add_generation_prompt %}assistant:{% endif %}"""
STRICT = """{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('alternate!') }}{% endif %}{% if m.role not in ('user', 'assistant') %}
{{ raise_exception('role!') }}{% endif %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}"""
TEXT_CALLS = """{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}
{{ c.function.name }}{{ c.function.arguments }}{{ c.id }}{% endfor %}{{ m.tool_call_id }}{% endfor %}"""
PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"
FOR_TOOLS_ONLY = "{% for t in tools %}{{ t.function.name }}{% endfor %}" + PLAIN_TEMPLATE


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            LLAMA_LIKE,
            TemplateCapabilities(system=True, tools=True, tool_calls=True, tool_role=True, ending="assistant:"),
        ),
        (STRICT, TemplateCapabilities(alternation=True)),
        (TEXT_CALLS, TemplateCapabilities(system=True, tool_calls=True, object_arguments=False, tool_role=True)),
        (PARTS, TemplateCapabilities(system=True, tool_role=True, content_parts=True)),
        (FOR_TOOLS_ONLY, TemplateCapabilities(system=True, tools=True, tool_role=True, empty_tools=True)),
    ],
    ids=["llama-like", "strict", "text calls", "parts", "for tools only"],
)
async def test_abilities(source: str, expected: TemplateCapabilities) -> None:
    found = (await template.load_template(source)).capabilities
    assert replace(found, called="") == expected
    assert bool(found.called) == found.tool_calls


ONLY_CALLS = """{% for m in messages %}{% if m.content is not none %}{{ m.role }}: {{ m.content }}.
{% elif m.tool_calls %}{{ m.tool_calls[0].function | tojson }}{% endif %}{% endfor %}"""


async def test_a_template_that_shows_calls_only_without_content() -> None:
    loaded = await template.load_template(ONLY_CALLS)
    can = loaded.capabilities
    assert (can.tool_calls, can.empty_content, can.text_and_calls) == (True, False, False)
    assert can.called == '{"name": "fetch_grumble", "arguments": {"city": "Snorkville"}}'
    assert loaded.render([text_message("user", "hi"), CALLING], control_tokens=NOTHING).endswith('"é<"}}')


@pytest.mark.demand("llamacpp.templates_model_own_chat")
async def test_chatml_for_a_model_without_a_template(caplog: pytest.LogCaptureFixture) -> None:
    header = GgufHeader("llama", 8192, None, {}, "<s>", None, (), (), {})
    sources = template.sources_from_header(header)
    assert "ChatML" in caplog.text
    loaded = await template.load_template(sources.default, bos=sources.bos)
    assert loaded.capabilities.system
    assert loaded.render([text_message("system", "S"), text_message("user", "U")], control_tokens=NOTHING) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.demand("llamacpp.templates_model_own_chat")
def test_the_template_for_tools_is_preferred_with_tools() -> None:
    header = GgufHeader("llama", 8192, "plain", {"tool_use": "tooled"}, "<s>", "</s>", (), (), {})
    props = {"chat_template": "plain", "chat_template_tool_use": "tooled", "bos_token": "<s>", "eos_token": "</s>"}
    for sources in (template.sources_from_header(header), template.sources_from_props(props)):
        assert (sources.select(tools=True), sources.select(tools=False)) == ("tooled", "plain")
        assert (sources.bos, sources.eos) == ("<s>", "</s>")


GROWING_TEMPLATE = "{% set n = namespace(s='aaaa') %}{% for i in range(40) %}{% set n.s = n.s ? n.s %}{% endfor %}"
HOSTILE_TEMPLATES = {
    "loops for ever": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops in filters": "{% for a in range(99999) %}{{ range(99999) | sum }}{% endfor %}",
    "two gigabytes": "{{ 'a' * 2000000000 }}",
    "doubles": GROWING_TEMPLATE.replace("?", "~"),
    "doubles by plus": GROWING_TEMPLATE.replace("?", "+"),
    "pads": "{{ 'x'.ljust(2000000000) }}",
    "formats": "{{ '%2000000000d' % 1 }}",
    "formats otherwise": "{{ '{:2000000000}'.format(1) }}",
    # Neither of these two meets our own bounds: only the process's limits hold them.
    "replaces": "{{ ('a' * 9999999).replace('a', 'a' * 99) | length }}",
    "sums": "{{ ([range(99999)] * 100000) | map('sum') | list | length }}",
    "indents": "{{ [1] | tojson(indent=2000000000) }}",
    "power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "walks": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "walks by a filter": "{{ ('' | attr('__class__')).__mro__ }}",
    "globals": "{{ raise_exception.__globals__ }}",
    "calls itself": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "syntax": "{% for",
    "deep": "{{ " + "(" * 100_000,
    "imports": "{% import 'os' as os %}",
    "empty": "",
    "half a character": "\ud800",
    "long": " " * (template.MAX_TEMPLATE_CHARS + 1),
}


@pytest.mark.demand("llamacpp.template_loops_ever_builds")
@pytest.mark.parametrize("name", HOSTILE_TEMPLATES)
async def test_hostile_templates_are_refused(name: str) -> None:
    """Row 6: refused at load, with little time and memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(TemplateRefused, match="--chat-template"):
        await template.load_template("" if name == "empty" else PLAIN_TEMPLATE + HOSTILE_TEMPLATES[name])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The processor's time, not the clock's: other tests run beside this one.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10
    # The largest child ever: an engine of another test may have been larger, and a child that was just forked
    # counts as large as this process. Two gigabytes would be far beyond all of these.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after.ru_maxrss < max(300 << 10, before.ru_maxrss, own) + (100 << 10)


@pytest.mark.demand("llamacpp.template_loops_ever_builds")
def test_rendering_ends_at_its_time() -> None:
    sandbox = TemplateSandbox(read_fixed_clock)
    loop = sandbox.compile_template("{% for i in range(3) %}x{% endfor %}")
    assert sandbox.render_template(loop, {}, 60) == "xxx"
    with pytest.raises(TemplateLimitExceeded, match="more time"):
        sandbox.render_template(loop, {}, -1)


@pytest.mark.demand("llamacpp.template_loops_ever_builds")
@pytest.mark.parametrize("name", ["loops for ever", "two gigabytes", "doubles", "formats otherwise", "pads"])
def test_a_template_that_turns_hostile_later_is_stopped(name: str) -> None:
    source = "{% if messages | length > 50 %}" + HOSTILE_TEMPLATES[name] + "{% endif %}" + PLAIN_TEMPLATE
    assert "hi" in render_source(source)
    with pytest.raises(TemplateRefused):
        render_source(source, *[text_message("user", "hi")] * 51)


async def test_loading_does_not_block_the_loop() -> None:
    loading = asyncio.create_task(template.load_template(PLAIN_TEMPLATE))
    ticks = 0
    while not loading.done():
        await asyncio.sleep(0.001)
        ticks += 1
    assert ticks > 5
    await loading


@pytest.mark.demand("llamacpp.templates_demand_alternation_know")
def test_roles_that_are_not_known_become_text() -> None:
    messages = [
        text_message("system", "Be kind."),
        text_message("user", "Hi"),
        CALLING,
        RESULT,
        text_message("developer", "Now short."),
    ]
    turns = to_template_messages(messages, TemplateCapabilities(alternation=True))
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[0]["content"] == "Be kind.\n\nHi"
    assert turns[1]["content"] == '{"tool_calls": [{"name": "add", "arguments": {"a": "é<"}}]}'
    assert turns[2]["content"] == "Result of add (call call_1):\n3\n\nNow short."


def test_known_roles_stay() -> None:
    able = TemplateCapabilities(system=True, tool_calls=True, tool_role=True)
    system, assistant, tool = to_template_messages([text_message("developer", "S"), CALLING, RESULT], able)
    assert system == {"role": "system", "content": "S"}
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": {"a": "é<"}}}
    assert assistant == {"role": "assistant", "content": "", "tool_calls": [call]}
    assert tool == {"role": "tool", "content": "3", "tool_call_id": "call_1", "name": "add"}
    textual = to_template_messages([CALLING], TemplateCapabilities(tool_calls=True, object_arguments=False))
    assert textual[0]["tool_calls"][0]["function"]["arguments"] == '{"a": "é<"}'


def test_an_assistant_that_begins_is_preceded_by_a_user() -> None:
    turns = to_template_messages(
        [text_message("assistant", "A"), text_message("user", "U")], TemplateCapabilities(alternation=True)
    )
    assert [turn["content"] for turn in turns] == [OPENING_USER_TEXT, "A", "U"]


@pytest.mark.demand("llamacpp.templates_demand_alternation_know")
async def test_a_strict_template_takes_any_conversation() -> None:
    strict = await template.load_template(STRICT)
    messages = [
        text_message("system", "S"),
        text_message("assistant", "A"),
        CALLING,
        RESULT,
        RESULT,
        text_message("user", "U"),
    ]
    for count in range(1, len(messages) + 1):
        assert strict.render(messages[:count], control_tokens=NOTHING)
    assert strict.render(messages, control_tokens=NOTHING).endswith("U")


def test_a_role_that_was_never_filled_in_is_the_assistants() -> None:
    ending = "{% if add_generation_prompt %}{{ '<|start_header_id|>{role}<|end_header_id|>' }}{% endif %}"
    assert "<|start_header_id|>assistant<|end_header_id|>" in repair_source(ending)
    spoken = "{{ '<|start_header_id|>' + role + '<|end_header_id|>' }} {role}"
    assert repair_source(spoken) == spoken
