"""Step kinds `llm`, `ask`, `none` and `reformat`: text of the model, of the user, or of a template."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from rightseat.documents.json import encode_json
from rightseat.engine.assembler import EventAssembler
from rightseat.errors import CallerError
from rightseat.plugins.flows.paths import decode_json_text, describe_value, join_path
from rightseat.plugins.flows.step_context import (
    FlowReferences,
    StepContext,
    StepError,
    StepOutput,
    StepStream,
    check_param_names,
    make_step_problem,
)
from rightseat.plugins.flows.steps import StepKind
from rightseat.plugins.flows.templates import (
    DEFAULT_SYSTEM_PROMPT,
    DEFAULT_USER_PROMPT,
    StepVariables,
    UnknownVariable,
    as_text,
    check_placeholders,
    choose_text,
    fill_template,
    fill_value,
    get_input_data,
    is_placeholder,
    is_text,
    match_variable,
    render_prompts,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Artifact, Custom
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.schema import get_validator
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none
from rightseat.types.tools import Ask, Pause

PROMPT_PARAMS = ("system_prompt", "user_prompt")
NUMBER_PARAMS = ("temperature", "max_tokens")
ANSWER = "answer"
EACH = "each"
SAY = "say"


async def run_llm(ctx: StepContext) -> StepStream:
    """Send `system_prompt` and `user_prompt` to the model. As the last step, stream the answer."""
    params = ctx.step.params
    rendered = await render_prompts(
        ctx,
        str(params.get("system_prompt") or DEFAULT_SYSTEM_PROMPT),
        str(params.get("user_prompt") or DEFAULT_USER_PROMPT),
    )
    if rendered.cut:
        yield Custom("prompt_cut", {"step": ctx.step.name, "cut": list(rendered.cut)})
    system, user = rendered.texts
    messages = (*([text_message("system", system)] if system else ()), text_message("user", user))
    schema = ctx.turn.output_schema if ctx.last else None
    prompt = Prompt(messages=messages, settings=build_settings(ctx), output_schema=schema)
    assembler = EventAssembler(IdGenerator(), {})
    async with closing(ctx.services.model.stream(prompt)) as chunks:
        async for chunk in chunks:
            for event in assembler.push(chunk):
                if ctx.last:
                    yield event
    for event in assembler.finish():
        if ctx.last:
            yield event
    answer = assembler.build_answer()
    if not answer.message.text.strip():
        why = " because of its filter" if answer.reason == "content_filter" else ""
        raise StepError(f"The model said nothing{why}.")
    yield StepOutput(answer.message.text, "The model has worked on what the steps before gave.")


def build_settings(ctx: StepContext) -> SamplingSettings:
    """Return the step's settings; as the last step, on top of the caller's."""
    base = ctx.turn.settings if ctx.last else SamplingSettings()
    return replace(base, **{name: ctx.step.params[name] for name in NUMBER_PARAMS if name in ctx.step.params})


def check_llm(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    for name in PROMPT_PARAMS:
        if not isinstance(step.params.get(name, ""), str):
            yield make_step_problem(flow, step, f"params.{name}", "It is not a text.", "Write the prompt as text.")
        yield from check_placeholders(flow, step, name)
    for name in NUMBER_PARAMS:
        if not is_valid_number(name, step.params.get(name, 0)):
            yield make_step_problem(flow, step, f"params.{name}", "It is not such a number.", "Write 0.2, or 500.")
    yield from check_param_names(flow, step, "An llm step", (*PROMPT_PARAMS, *NUMBER_PARAMS))


def is_valid_number(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return False
    return name != "max_tokens" or isinstance(value, int)


async def run_ask(ctx: StepContext) -> StepStream:
    """Ask the user `question`, for free text, for one of `options`, or for values that fit `schema`; the answer
    is the output."""
    schema, options = ctx.step.params.get("schema"), ctx.step.params.get("options")
    has_options = isinstance(options, list | str) and not isinstance(schema, dict)
    if ctx.answers:
        answer = ctx.answers[-1]
        yield StepOutput(answer[ANSWER] if has_options and isinstance(answer, dict) else answer)
        return
    text = fill_template(choose_text(ctx.step.params.get("question"), ctx.turn), StepVariables(ctx))
    if has_options and options:
        choices = list_options(options, OptionVariables(ctx))
        schema = {"type": "object", "properties": {ANSWER: {"enum": choices}}, "required": [ANSWER]}
    yield Pause((Ask(text, "form", schema) if isinstance(schema, dict) else Ask(text),))


class OptionVariables(StepVariables):
    """Variables of `options`: also `{each}`, the items of the step before, unless a step has that name."""

    def __call__(self, path: str) -> Any:
        try:
            return super().__call__(path)
        except UnknownVariable:
            if match_variable(path, (EACH,)) is None:
                raise
            return super().__call__(f"data{path[len(EACH) :]}")


def list_options(options: list[Any] | str, variables: OptionVariables) -> list[Any]:
    """Return the choices, each once. A path stands for the values of its list; StepError where it has none."""
    choices: list[Any] = []
    for option in [options] if isinstance(options, str) else options:
        value = decode_json_text(fill_value(option, variables))
        if isinstance(options, str) and not isinstance(value, list):
            raise StepError(f"The options {options} are no list: there is {describe_value(value)}.")
        choices += value if isinstance(value, list) else [value]
    unique = list({encode_json(choice): choice for choice in choices if choice is not None}.values())
    if not unique:
        raise StepError(f"There is nothing to choose from: options {as_text(options)} are empty.")
    for choice in unique:
        if isinstance(choice, dict | list):
            name = next(iter(choice), "name") if isinstance(choice, dict) else 0
            path = join_path(as_text(options).strip("{}"), name) if isinstance(options, str) else "start.name"
            kinds = describe_value(choice).replace("an object", "objects", 1)
            raise StepError(f"The options {as_text(options)} are {kinds}. Write {{{path}}}.")
    return unique


def check_ask(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    params = step.params
    yield from check_param_names(flow, step, "An ask step", ("question", "options", "schema"))
    question = params.get("question")
    if not question or not is_text(question) or not str(question).strip():
        yield make_step_problem(flow, step, "params.question", "It asks nothing.", "Write the question.")
    options = params.get("options")
    is_path = isinstance(options, str) and is_placeholder(options)
    if options is not None and not is_path and not (isinstance(options, list) and options):
        fix = 'Write them as a list, or a path such as "{start.name}".'
        yield make_step_problem(flow, step, "params.options", "It is no list of answers.", fix)
    yield from check_placeholders(flow, step, "options", (EACH,))
    schema = params.get("schema")
    if schema is None:
        return
    try:
        if not isinstance(schema, dict):
            raise CallerError("It is no JSON Schema.")
        get_validator(schema)
    except CallerError as error:
        yield make_step_problem(flow, step, "params.schema", error.message, "Write `type:` and `properties:`.")


async def run_none(ctx: StepContext) -> StepStream:
    """Pass the previous output on. As the last step, answer with the template `say`, without a model call."""
    template = ctx.step.params.get(SAY)
    if template is not None and is_text(template) and ctx.last:
        yield StepOutput(fill_template(choose_text(template, ctx.turn), StepVariables(ctx)), spoken=True)
    else:
        yield StepOutput(ctx.previous.data if ctx.previous else None)


def check_none(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "A none step", (SAY,))
    template = step.params.get(SAY)
    if template is None:
        return
    if not is_text(template):
        yield make_step_problem(flow, step, f"params.{SAY}", "It is not a text.", "Write what should be said.")
        return
    yield from check_placeholders(flow, step, SAY)
    if step.next is not None:
        what = "Only the last step says something."
        yield make_step_problem(flow, step, f"params.{SAY}", what, "Take `next` away, or `say`.", "warning")


async def run_reformat(ctx: StepContext) -> StepStream:
    """Fill `text`, which is the flow's answer in the last step and the output's message elsewhere, and `data`, which
    replaces the data of the step before."""
    find, params = StepVariables(ctx), ctx.step.params
    has_data = params.get("data") is not None
    data = fill_value(read_data_template(params["data"]), find) if has_data else get_input_data(ctx)
    text = fill_template(choose_text(params.get("text"), ctx.turn), find).strip()
    if not ctx.last or not text:
        yield StepOutput(data, text or "The data was put into another form.")
        return
    if has_data:
        yield Artifact(f"reformat-{secrets.token_hex(8)}", "table", ctx.step.name, make_data_rows(data))
    yield StepOutput(text, spoken=True)


def make_data_rows(data: Any) -> Any:
    """Return rows: those of a list of objects, else one row of the object's values."""
    # Lazy: loads the charts.
    from rightseat.plugins.flows.steps.data import make_rows

    return make_rows(data if isinstance(data, dict) else {"value": data})


def read_data_template(template: Any) -> Any:
    """Return the template of `data`: a mapping or list, also where the file has it as JSON text."""
    return decode_or_none(template) if isinstance(template, str) else template


def check_reformat(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from check_param_names(flow, step, "A reformat step", ("text", "data"))
    text, data = step.params.get("text"), step.params.get("data")
    if text is None and data is None:
        fix = "Write `text: |` with the answer, or `data:` with names and values."
        yield make_step_problem(flow, step, "params", "It has neither `text` nor `data`.", fix)
    if text is not None and not is_text(text):
        yield make_step_problem(flow, step, "params.text", "It is not a text.", "Write what should be said.")
    if data is not None and not isinstance(read_data_template(data), dict | list):
        what = "It is no mapping and no list: jsonnet is not evaluated."
        fix = 'Write it as YAML with placeholders, such as data: {id: "{start.id}"}.'
        yield make_step_problem(flow, step, "params.data", what, fix)
    yield from check_placeholders(flow, step, "text")
    yield from check_placeholders(flow, step, "data")


STEP_KINDS = {
    "llm": StepKind(run_llm, check_llm),
    "ask": StepKind(run_ask, check_ask),
    "none": StepKind(run_none, check_none),
    "reformat": StepKind(run_reformat, check_reformat),
}
