"""Templates with placeholders: `{question}`, `{data}`, `{start.hosts[0].name}`.

Only known names are filled in, once: other braces are text, and so are braces within values.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from rightseat.documents.document import cut_middle, fits_budget, share_budget
from rightseat.documents.json import JsonCutter, encode_json
from rightseat.engine.history import MESSAGE_TOKENS
from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.errors import ContextTooLong
from rightseat.plugins.charts.chart import describe_chart, describe_charts, is_chart_option
from rightseat.plugins.flows.dialect import (
    BLOCK_FIX,
    DIALECT_NAMES,
    LAST,
    OUTPUT_KEYS,
    InvalidTemplate,
    iter_texts,
    select_blocks,
)
from rightseat.plugins.flows.paths import PathNotFound, decode_json_text, parse_path, resolve_path
from rightseat.plugins.flows.step_context import StepContext, StepOutput, make_step_problem
from rightseat.plugins.flows.steps import KINDS, TOOL
from rightseat.plugins.plugin import END, Flow, Gravity, Problem, Step
from rightseat.types.language import LANGUAGES
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import Turn

VariableLookup = Callable[[str], Any]
"""Returns the value of a name, or raises UnknownVariable."""

# Later versions of the original format use doubled braces.
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}\n]{1,200}?)\s*\}\}|\{([^{}\n]{1,200})\}")


# In doubled braces: an expression of Jinja.
_EXPRESSION = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_WORD = re.compile(r"[^\W\d][\w-]*")
_PATH = re.compile(r"[^|()+*/%<>=!~,]*")
NESTED_PARAMS = ("steps", "branches")
"""Params with steps, which are checked as steps."""
TEXT_PARAMS = ("system_prompt", "user_prompt", "question", "say", "text", "title")
"""Params that are templates with blocks."""


class UnknownVariable(LookupError):
    """No variable has this name: the braces are text."""


def split_template(text: str, find: VariableLookup, *, has_blocks: bool = True) -> list[str | tuple[str, Any]]:
    """Split the template into literal text and (name, value) pairs, without the `{% if %}` blocks that do not hold."""

    def holds(path: str) -> bool:
        try:
            return bool(find(path))
        except (UnknownVariable, PathNotFound):
            return False

    text = select_blocks(text, holds) if has_blocks else text
    parts: list[str | tuple[str, Any]] = []
    place = 0
    for hole in _PLACEHOLDER.finditer(text):
        name = hole[1] or hole[2]
        try:
            value = find(name)
        except UnknownVariable:
            continue
        parts += [text[place : hole.start()], (name, value)]
        place = hole.end()
    return [*parts, text[place:]]


def fill_template(text: str, find: VariableLookup, *, has_blocks: bool = True) -> str:
    pieces = split_template(text, find, has_blocks=has_blocks)
    return "".join(piece if isinstance(piece, str) else as_text(piece[1]) for piece in pieces)


def fill_value(template: Any, find: VariableLookup) -> Any:
    """Fill all strings within a value. A string that is one placeholder becomes the value itself: a number
    stays a number. Values have no blocks: a tool may take a template of its own."""
    match template:
        case str():
            placeholder = _PLACEHOLDER.fullmatch(template)
            if placeholder is None:
                return fill_template(template, find, has_blocks=False)
            try:
                return find(placeholder[1] or placeholder[2])
            except UnknownVariable:
                return template
        case dict():
            return {name: fill_value(inner, find) for name, inner in template.items()}
        case list():
            return [fill_value(inner, find) for inner in template]
        case _:
            return template


def is_placeholder(text: str) -> bool:
    """Whether the text is one placeholder and nothing else."""
    return _PLACEHOLDER.fullmatch(text) is not None


def is_text(value: Any) -> bool:
    """Whether the value of a param is a text, or texts by language: `{en: …, zh: …}`."""
    texts = value.values() if isinstance(value, dict) and value and value.keys() <= set(LANGUAGES) else [value]
    return all(isinstance(text, str) for text in texts)


def choose_text(value: Any, turn: Turn) -> str:
    """Return the text of a param; of texts by language the person's, else the first."""
    if isinstance(value, dict) and value:
        value = value.get(turn.get_language(), next(iter(value.values())))
    return value if isinstance(value, str) else ""


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else encode_json(value)


BUILT_IN = ("question", "data", "context", "time", "description", "steps")
MIN_SIMILARITY = 0.75
MAX_MESSAGES = 20

# Tokens of one message and of one step's output in {context}; {step name} is not shortened.
MESSAGE_BUDGET, STEP_BUDGET = 500, 300


class StepVariables:
    """Resolves a variable, or a path that begins with one; raises UnknownVariable for other names."""

    def __init__(self, ctx: StepContext) -> None:
        self.ctx = ctx

    def __call__(self, path: str) -> Any:
        name = match_variable(path, (*BUILT_IN, *DIALECT_NAMES, *self.ctx.flow.steps, *self.ctx.outputs))
        if name is None:
            raise UnknownVariable(path)
        rest = parse_path(path[len(name) :])
        if not rest:
            return self.whole_value(name)
        output = self.ctx.outputs.get(name)
        if output is not None and rest[0] in OUTPUT_KEYS and not has_key(output.data, str(rest[0])):
            return resolve_path(wrap_output(output), rest, name)
        return resolve_path(self.value(name), rest, name)

    def whole_value(self, name: str) -> Any:
        """Return what the name alone stands for."""
        return self.value(name)

    def value(self, name: str) -> Any:
        ctx = self.ctx
        match name:
            case "question":
                return ctx.question
            case "data":
                return get_input_data(ctx)
            case "context":
                return build_context(ctx)
            case "time":
                return ctx.services.now(ctx.turn).strftime("%Y-%m-%d %H:%M:%S %Z").strip()
            case "description":
                return ctx.flow.description
            case "steps":
                return {name: output.data for name, output in iter_finished_steps(ctx)}
            case _ if name in DIALECT_NAMES and name not in ctx.flow.steps and name not in ctx.outputs:
                return self.get_dialect_value(name)
            case _:
                # A step that was skipped by a choice has no output.
                return ctx.outputs[name].data if name in ctx.outputs else None

    def get_dialect_value(self, name: str) -> Any:
        """Return `last`, the output before or the error, or `storage`, all outputs."""
        ctx = self.ctx
        if name == LAST:
            message = "" if ctx.failure or ctx.previous is None else ctx.previous.message
            return wrap_output(StepOutput(get_input_data(ctx), message))
        # The variables of a loop are no outputs of steps.
        names = ctx.flow.steps.keys() | (ctx.outputs.keys() - {"item", "round"})
        return [wrap_output(output) for key, output in ctx.outputs.items() if key in names and output.jump is None]


def wrap_output(output: StepOutput) -> dict[str, Any]:
    """Return an output as the 0.9.3 dialect has it. The message of a text is the text."""
    message = output.data if isinstance(output.data, str) else output.message
    return {"output": output.data, "message": message}


def has_key(data: Any, key: str) -> bool:
    """Whether an object, or each object of a list, has the key."""
    data = decode_json_text(data)
    items = data if isinstance(data, list) and data else [data]
    return all(isinstance(item, dict) and key in item for item in items)


class PromptVariables(StepVariables):
    """Variables of one prompt. `{context}` leaves out what the templates show in whole, and a chart stands as
    kind, title and the table that it was drawn from."""

    def __init__(self, ctx: StepContext, *templates: Any) -> None:
        super().__init__(ctx)
        self.names = set(iter_placeholders(list(templates)))

    def __call__(self, path: str) -> Any:
        value = super().__call__(path)
        return value if path == "question" else describe_data(value)

    def whole_value(self, name: str) -> Any:
        ctx = self.ctx
        if name == "context":
            return build_context(ctx, self.list_shown_outputs())
        if name == "steps":
            return {name: describe_data(output.data) for name, output in iter_finished_steps(ctx)}
        output = find_input_output(ctx) if name == "data" else ctx.outputs.get(name)
        if output is None or not is_chart_option(output.data):
            return self.value(name)
        source = find_drawn_output(ctx, output)
        return {**describe_chart(output.data), **({"table": describe_data(source.data)} if source else {})}

    def list_shown_outputs(self) -> list[StepOutput]:
        """Return the outputs that the templates show in whole beside the context."""
        ctx = self.ctx
        if "steps" in self.names:
            return list(ctx.outputs.values())
        # `start.output` is all of `start`.
        names = {name.removesuffix(".output") for name in self.names}
        named = [ctx.outputs[name] for name in names if name in ctx.outputs]
        before = find_input_output(ctx) if names & {"data", LAST} else None
        shown = [*named, *([before] if before else [])]
        drawn = (find_drawn_output(ctx, output) for output in shown if is_chart_option(output.data))
        return [*shown, *(output for output in drawn if output)]


def find_input_output(ctx: StepContext) -> StepOutput | None:
    """Return the output that `{data}` stands for: the previous one, skipping choices; None in an on_error step."""
    if ctx.failure or ctx.previous is None:
        return None
    before = [ctx.previous, *list(ctx.outputs.values())[::-1]]
    return next((output for output in before if output.jump is None), None)


def find_drawn_output(ctx: StepContext, chart: StepOutput) -> StepOutput | None:
    """Return the output that a chart was drawn from: that of the render step's `from`, else the one before it."""
    before: StepOutput | None = None
    for name, output in ctx.outputs.items():
        if output is chart:
            step = ctx.flow.steps.get(name)
            source = step.params.get("from") if step else None
            return ctx.outputs.get(source) if isinstance(source, str) else before
        if output.jump is None and output.data is not None and not is_chart_option(output.data):
            before = output
    return None


def describe_data(data: Any) -> Any:
    """Return data for a prompt: options of charts, also as JSON text, become kind and title."""
    if isinstance(data, str) and '"series"' in data and is_chart_option(option := decode_json_text(data)):
        return describe_chart(option)
    return describe_charts(data)


def match_variable(path: str, names: Iterable[str]) -> str | None:
    """Return the name that a path begins with; the longest, because names may contain dots."""
    fits = [name for name in names if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(fits, key=len, default=None)


def is_known_variable(path: str, flow: Flow) -> bool:
    """Whether the path begins with a built-in variable or a step's name."""
    return match_variable(path, (*BUILT_IN, *DIALECT_NAMES, *flow.steps)) is not None


def check_templates(flow: Flow, step: Step) -> Iterator[Problem]:
    """Report Jinja in the step's params that is not supported, and names of it that nothing has. Arguments of a tool
    are the tool's own."""
    if step.kind == TOOL or step.kind not in KINDS:
        return
    params = {name: value for name, value in step.params.items() if name not in NESTED_PARAMS}
    for param, value in params.items():
        for text in iter_texts(value):
            problems = find_block_problems(text, flow) if param in TEXT_PARAMS else ()
            for what, fix, gravity in (*problems, *find_expression_problems(text, flow)):
                yield make_step_problem(flow, step, f"params.{param}", what, fix, gravity)


def find_block_problems(text: str, flow: Flow) -> Iterator[tuple[str, str, Gravity]]:
    """Yield what is wrong, its fix and its gravity for each block that is not supported or never holds."""
    conditions: list[str] = []

    def note_condition(path: str) -> bool:
        conditions.append(path)
        return False

    try:
        select_blocks(text, note_condition)
    except InvalidTemplate as error:
        yield str(error), BLOCK_FIX, "error"
    for path in conditions:
        if not is_known_variable(path, flow):
            yield f"{{% if {path} %}} never holds: nothing is called so.", list_variables(flow), "warning"


def find_expression_problems(text: str, flow: Flow) -> Iterator[tuple[str, str, Gravity]]:
    """Yield what is wrong, its fix and its gravity for each expression in doubled braces that is no known path."""
    for match in _EXPRESSION.finditer(text):
        expression = match[1].strip()
        word = _WORD.match(expression)
        if word is None or (_PATH.fullmatch(expression) and is_known_variable(expression, flow)):
            continue
        if is_known_variable(word[0], flow):
            what = f"{{{{ {expression} }}}} is no name or path: filters, calls and operators are not supported."
            yield what, "Write a path such as {{ start.output.hosts[0].name }}, or use an llm or tool step.", "error"
        else:
            yield f"{{{{ {expression} }}}} is text: nothing is called so.", list_variables(flow), "warning"


def list_variables(flow: Flow) -> str:
    return f"There are: {', '.join((*BUILT_IN, LAST, *flow.steps))}."


def check_placeholders(flow: Flow, step: Step, param: str, also: Sequence[str] = ()) -> Iterator[Problem]:
    """Report the placeholders of a param that resemble a known name. `also` are names known in this param."""
    names = (*BUILT_IN, *flow.steps, *also)
    for placeholder in iter_placeholders(step.params.get(param)):
        word = placeholder.partition(".")[0].partition("[")[0]
        near = difflib.get_close_matches(word, names, 1, MIN_SIMILARITY)
        if near and match_variable(placeholder, names) is None:
            what = f"{{{placeholder}}} is text: nothing is called so."
            yield make_step_problem(flow, step, f"params.{param}", what, f"Did you mean {{{near[0]}}}?", "style")


def iter_placeholders(template: Any) -> Iterator[str]:
    """Yield the content of all braces within a value, known or not."""
    if isinstance(template, str):
        yield from (match[1] or match[2] for match in _PLACEHOLDER.finditer(template))
    elif isinstance(template, dict | list):
        for inner in template.values() if isinstance(template, dict) else template:
            yield from iter_placeholders(inner)


def get_input_data(ctx: StepContext) -> Any:
    """Return the previous output's data, skipping choices; in an on_error step, the error message."""
    if ctx.failure:
        return ctx.failure
    output = find_input_output(ctx)
    return output.data if output else None


def iter_finished_steps(ctx: StepContext) -> Iterator[tuple[str, StepOutput]]:
    """Yield the steps that produced data."""
    for name, output in ctx.outputs.items():
        step = ctx.flow.steps.get(name)
        if output.jump is None and output.data is not None and (step is None or step.kind != "none"):
            yield name, output


def build_context(ctx: StepContext, left_out: Sequence[StepOutput] = ()) -> str:
    """Return the conversation and the step outputs, shortened, without a model call. `left_out` are outputs that
    the prompt shows elsewhere."""
    finished = [pair for pair in iter_finished_steps(ctx) if not any(pair[1] is output for output in left_out)]
    sections = {
        "Conversation": format_conversation(ctx.turn, ctx.question),
        "The application says": [f"{entry.description}: {entry.value}" for entry in ctx.turn.context],
        "Finished steps": [f"{name}: {summarize_output(output)}" for name, output in finished],
    }
    return "\n\n".join("\n".join([f"{title}:", *lines]) for title, lines in sections.items() if lines)


def format_conversation(turn: Turn, question: str) -> list[str]:
    messages = [one for one in turn.messages if one.role in ("user", "assistant") and one.text.strip()]
    if messages and messages[-1].role == "user" and messages[-1].text.strip() == question.strip():
        messages.pop()
    return [f"{one.role}: {cut_middle(one.text, MESSAGE_BUDGET)}" for one in messages[-MAX_MESSAGES:]]


def summarize_output(output: StepOutput) -> str:
    data = describe_data(output.data)
    shown = cut_middle(as_text(data), STEP_BUDGET) if isinstance(data, str) else JsonCutter().cut(data, STEP_BUDGET)
    return f"{output.message} {shown}".strip()


DEFAULT_BUDGET = 32_000
"""Tokens of a prompt where the model's context window is unknown."""
MIN_VALUE_TOKENS = 16
DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant. Answer in the language of the question."

DEFAULT_USER_PROMPT = "Question:\n{question}\n\nData:\n{data}\n\nBackground:\n{context}\n\nThe time is {time}."

ANSWER_PROMPT = """\
A workflow has run to answer a question. What it is for:
{description}

What its steps gave:
{steps}

Question:
{question}

Answer the question from what the steps gave. If they did not give it, say so."""


ANSWER_STEP = Step(
    name=f"{END}_answer", kind="llm", params={"system_prompt": DEFAULT_SYSTEM_PROMPT, "user_prompt": ANSWER_PROMPT}
)
"""Writes the answer where the flow's last step does not."""


class RenderedPrompts(Struct, frozen=True):
    """Filled templates. `cut` names the variables whose values were shortened."""

    texts: tuple[str, ...]
    cut: tuple[str, ...] = ()


def prompt_budget(context: int | None) -> int:
    """Return the tokens a prompt may have: 80 % of the context window."""
    return DEFAULT_BUDGET if context is None else context * 4 // 5


async def render_prompts(ctx: StepContext, *templates: str, reserved: int = 0) -> RenderedPrompts:
    """Fill the templates, together within the prompt budget less `reserved`."""
    # In a thread, because data may be large.
    budget = prompt_budget(ctx.services.context) - reserved
    return await asyncio.to_thread(fit_templates, templates, PromptVariables(ctx, *templates), budget)


def fit_templates(templates: Sequence[str], variables: StepVariables, budget: int) -> RenderedPrompts:
    all_pieces = [split_template(template, variables) for template in templates]
    holes = [piece for made in all_pieces for piece in made if not isinstance(piece, str)]
    fixed = sum(estimate_tokens(piece) for made in all_pieces for piece in made if isinstance(piece, str))
    sizes = [estimate_tokens(as_text(value)) for _, value in holes]
    free = budget - fixed - MESSAGE_TOKENS * len(templates)
    needed = sum(min(size, MIN_VALUE_TOKENS) for size in sizes)
    if free < needed:
        raise ContextTooLong(
            f"A prompt of this step takes about {budget - free + needed} tokens without its data, and there is "
            f"room for {budget}. Shorten it, or use a model with a larger context."
        )
    parts = sizes if sum(sizes) <= free else share_budget(sizes, free)
    shown = iter([shorten_value(*hole, part) for hole, part in zip(holes, parts, strict=True)])
    shortened_names = (name for (name, _), size, part in zip(holes, sizes, parts, strict=True) if part < size)
    texts = ("".join(one if isinstance(one, str) else next(shown) for one in made) for made in all_pieces)
    return RenderedPrompts(tuple(texts), tuple(dict.fromkeys(shortened_names)))


def shorten_value(name: str, value: Any, budget: int) -> str:
    """Shorten a value to the budget. JSON stays JSON, and omissions are marked in place."""
    text = as_text(value)
    if fits_budget(text, budget):
        return text
    inner = decode_json_text(value)
    if isinstance(inner, dict | list):
        return JsonCutter().cut(inner, budget)
    # The end of a conversation matters more than its beginning.
    return cut_middle(text, budget, front=0.25 if name == "context" else 0.5)


def estimate_overhead(schema: dict[str, Any], *texts: str) -> int:
    """Return the tokens of a structured question besides the filled template."""
    return sum(map(estimate_tokens, (SCHEMA_INSTRUCTION, encode_json(schema), *texts))) + 2 * MESSAGE_TOKENS
