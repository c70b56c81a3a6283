"""[guardrails] in rightseat.toml: what it makes, and what it says about a mistake."""

from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.middleware.guardrails.checks import FunctionCheck, RemoteCheck, TopicJudge
from rightseat.middleware.guardrails.personal_data import DATA_KINDS
from rightseat.middleware.guardrails.rules import GuardrailPolicy
from rightseat.middleware.model_wrappers import FallbackMember
from rightseat.types.model import ModelInfo
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.middleware import make_guards
from tests.kit.app_server import FakeModel
from tests.unit.middleware.guardrails.guarded_runtime import get_failure, join_text, run_turn

FULL_CONFIG = """
[models.small]
spec = "scripted:demo"

[assistants.desk]
model = "small"

[assistants.lab]
model = "small"
guardrails = "open"

[guardrails.default]
judge = "small"
refusal = "Please ask the desk."
redact_results = ["secret"]
mark_untrusted = true
confirm_after_untrusted = "dangerous"

[guardrails.default.input]
deny = ["gun"]
deny_topics = ["gambling"]
allow_topics = ["invoices"]
patterns = ['(?i)ticket-\\d+']
max_chars = 2000
max_tokens = 500
redact = ["all"]

[guardrails.default.output]
deny = ["gun"]
deny_topics = ["gambling"]
patterns = ['x{3}']
window = 50
refuse = ["card"]
redact = ["email", "phone"]
replacement = "Sorry."
schema = { type = "object" }

[guardrails.default.topics]
gambling = ["poker", "赌博"]
invoices = ["invoice", "bill"]

[guardrails.default.validators.cloud]
url = "https://guard.example/guardrails/validate"
key = "env:GUARD_KEY"
direction = "both"
on_failure = "allow"

[guardrails.default.validators.own]
target = "tests.unit.middleware.guardrails.test_settings:validate"

[guardrails.open]
"""


def validate(text: str, direction: str, turn: Turn) -> None:
    """Allows everything."""


def load_policy(folder: Path, toml: str) -> GuardrailPolicy:
    path = folder / "rightseat.toml"
    path.write_text(toml, "utf-8")
    config = load_config(path)
    return make_guards(config, lambda name: FallbackMember(name, FakeModel(), ModelInfo("kit", name))).for_assistant(
        None
    )


@pytest.mark.demand("models.allow_deny_lists_topics")
def test_every_key_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARD_KEY", "s3cret")
    guard = load_policy(tmp_path, FULL_CONFIG)
    assert guard.input.find_problem("a GUN") == "words"
    assert guard.input.find_problem("some 赌博") == guard.input.find_problem("Gambling!") == "topic"
    assert guard.input.find_problem("TICKET-9") == "pattern"
    assert guard.input.find_problem("x" * 2001) == "length"
    assert guard.input.allow.matches("my bill")
    assert (guard.input.max_tokens, guard.input.redacted, guard.input.refused) == (500, DATA_KINDS, ())
    assert guard.output.find_problem("xxx") == "pattern"
    assert (guard.output.window, guard.output.refused) == (50, ("card",))
    assert guard.output.redacted == ("email", "phone")
    assert (guard.replacement, guard.refusal, guard.schema) == ("Sorry.", "Please ask the desk.", {"type": "object"})
    assert (guard.untrusted.mark, guard.untrusted.confirm) == (True, "dangerous")
    assert guard.untrusted.redacted == ("secret",)
    judge, cloud, own = guard.checks
    assert isinstance(judge, TopicJudge)
    assert (judge.deny, judge.allow) == ({"gambling": ("poker", "赌博")}, {"invoices": ("invoice", "bill")})
    assert isinstance(cloud, RemoteCheck)
    assert (cloud.topics, cloud.on_failure) == ((("invoices",), ("gambling",)), "allow")
    assert cloud.key is not None
    assert cloud.key.reveal() == "s3cret"
    assert cloud.directions == ("input", "output")
    assert isinstance(own, FunctionCheck)
    assert own.on_failure == "refuse"


def test_no_table_is_no_rule(tmp_path: Path) -> None:
    guard = load_policy(tmp_path, "")
    assert not guard.input
    assert not guard.output
    assert guard.checks == ()


@pytest.mark.slow
async def test_an_assistant_has_its_own_rules_or_those_of_default(tmp_path: Path) -> None:
    toml = """
[models.small]
spec = "scripted:demo"
[assistants.lab]
guardrails = "open"
[assistants.desk]
[guardrails.default.input]
deny = ["gun"]
[guardrails.open]
"""
    path = tmp_path / "rightseat.toml"
    path.write_text(toml, "utf-8")
    built = build_runtime(load_config(path), env={})
    assert get_failure(await run_turn(built, "gun", assistant="desk")) is not None
    assert get_failure(await run_turn(built, "gun", assistant="small")) is not None
    assert join_text(await run_turn(built, "gun", assistant="lab"))
    # The first assistant answers to `default` too, and takes its rules with it.
    assert join_text(await run_turn(built, "gun"))
    await built.close()


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("[guardrails.default]\nrefusl = ''", "guardrails.default.refusl: unknown key. Did you mean refusal?"),
        ("[guardrails.default.input]\ndenny = []", "guardrails.default.input.denny: unknown key. Did you mean deny?"),
        ("[guardrails.default.input]\nredact = ['mail']", "guardrails.default.input.redact: invalid enum value 'mail'"),
        (
            "[guardrails.a.input]\ndeny_topics = ['gamblin']\n[guardrails.a.topics]\ngambling = []",
            "guardrails.a.input.deny_topics: there is no topic 'gamblin'. Did you mean gambling?",
        ),
        (
            "[guardrails.default]\njudge = 'big'",
            "guardrails.default.judge: there is no [models.big]. Write [models.big].",
        ),
        (
            "[assistants.a]\nguardrails = 'strct'\n[guardrails.strict]",
            "assistants.a.guardrails: there is no [guardrails.strct]. Did you mean strict?",
        ),
        (
            "[guardrails.default.validators.x]\ntimeout = 1",
            "guardrails.default.validators.x: write either target, a function, or url, a service.",
        ),
        (
            "[guardrails.default.validators.x]\nurl = 'host/path'",
            "guardrails.default.validators.x.url: write a full address",
        ),
        (
            "[guardrails.default.validators.x]\ntarget = 'nowhere'",
            "guardrails.default.validators.x.target: 'nowhere' is not of the form module:attribute.",
        ),
        (
            "[guardrails.default.validators.x]\nurl = 'https://h/v'\nkey = 'env:NO_SUCH_KEY'",
            "guardrails.default.validators.x.key",
        ),
        ("[guardrails.default.input]\npatterns = ['(?=a)']", "input.patterns: '(?=a)' is not a supported expression"),
        ("[guardrails.default.output]\npatterns = ['^a']", "output.patterns: '^a'"),
        ("[guardrails.default.output]\nschema = { type = 'objct' }", "output.schema: Not a valid JSON Schema"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, toml: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_policy(tmp_path, toml)
    assert complaint in caught.value.message
