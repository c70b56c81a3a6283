"""`local`, `local:PATH.gguf`, a bare GGUF file and `llama-server:URL`, and what can be wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.config.settings import Config, ModelSettings
from rightseat.errors import ConfigError
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.model import LlamaCppModel, describe_from_file, describe_from_server
from rightseat.models.llamacpp.options import make_attached_model, make_local_model
from rightseat.models.llamacpp.supervision import SharedServer
from rightseat.models.llamacpp.template import parse_template_choice
from rightseat.types.model import CompletesText, find_protocol
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import make_model
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_number_entry, make_string_entry, make_usual_entries

CHATML = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"
ADDRESS = "llama-server:http://127.0.0.1:8080"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither the weights nor the prompts of whoever runs the tests."""
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "_installed_path", lambda known: None)
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    named = make_string_entry("tokenizer.chat_template.tool_use", "{{ messages }} with tools")
    path.write_bytes(make_gguf(*make_usual_entries(named, template=CHATML)))
    return path


def get_launch(local_model: object) -> LaunchOptions:
    local_model = local_model.weights_model if isinstance(local_model, EmbeddedModel) else local_model
    assert isinstance(local_model, LlamaCppModel)
    assert isinstance(local_model._server, SharedServer)
    return local_model._server.launch


@pytest.mark.demand("llamacpp.local_path_model_gguf")
def test_a_path_with_and_without_its_kind(model: Path) -> None:
    for spec in (f"local:{model}", str(model), str(model).replace(".gguf", ".GGUF")):
        if spec.endswith("GGUF"):
            model.rename(spec)
        made = make_model(spec)
        assert isinstance(made, LlamaCppModel)
        assert get_launch(made).model == Path(spec.removeprefix("local:"))
        assert made.name == "tiny"
        assert made.weights == get_launch(made).model
        assert made.ready, "it is not down, it was not asked for yet"


def test_the_embedded_model_needs_its_weights(cache: Path) -> None:
    with pytest.raises(ConfigError, match="rightseat models pull"):
        make_model("local")
    place = cache / "models" / weights.EMBEDDED.sha256[:16] / weights.EMBEDDED.file_name
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(weights.EMBEDDED.size)
    assert get_launch(make_model("local")).model == place


@pytest.mark.demand("llamacpp.local_path_model_gguf")
def test_every_option_arrives(model: Path, tmp_path: Path) -> None:
    server = tmp_path / "llama-server"
    server.write_text("")
    options: dict[str, Any] = {
        "context": 512,
        "slots": 3,
        "threads": 4,
        "batch": 96,
        "gpu_layers": 0,
        "cache_mib": 0,
        "llama_server": str(server),
        "lora": str(model),
        "prompt_cache": str(tmp_path / "prompts"),
        "start_timeout": 5,
        "idle_timeout": 7,
        "tool_format": "hermes",
        "publish": "json",
        "reasoning": "reasoning",
        "max_tokens": 99,
    }
    made = make_local_model(str(model), options)
    expected = LaunchOptions(
        model,
        context=512,
        slots=3,
        threads=4,
        batch=96,
        cpu_batch=get_launch(made).cpu_batch,
        gpu_layers=0,
        cache_mib=0,
        lora=model,
        binary=server,
        slot_save_path=tmp_path / "prompts",
    )
    assert get_launch(made) == expected
    assert isinstance(made, LlamaCppModel)
    assert isinstance(made._server, SharedServer)
    assert (made._server._policy.start_timeout, made._server._policy.timeouts.idle) == (5, 7)
    manner = made._options
    assert (manner.tool_format, manner.publish, manner.reasoning, manner.max_tokens) == (
        "hermes",
        "json",
        "reasoning",
        99,
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"contex": 1}, "no option 'contex'. Did you mean 'context'?"),
        ({"context": 10}, "wrong option"),
        ({"slots": 0}, "wrong option"),
        ({"publish": "yaml"}, "wrong option"),
        ({"tool_format": "hermess"}, "Did you mean 'hermes'?"),
        ({"chat_template": "gone.jinja"}, "there is no file gone.jinja"),
        ({"llama_server": "gone"}, "llama_server: gone is not a file here"),
        ({"embedding": "gone.gguf"}, "embedding: gone.gguf is not a file here"),
        ({"precache": ["gone.txt"]}, "precache: gone.txt is not a file here"),
    ],
)
def test_a_wrong_option_is_told(model: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_local_model(str(model), options)
    assert said in caught.value.message


def test_a_file_that_is_no_gguf_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("hello")
    with pytest.raises(ConfigError, match="is not a GGUF file"):
        make_local_model(str(tmp_path / "x.gguf"), {})
    with pytest.raises(ConfigError, match="is not a file here"):
        make_model("gone.gguf")


@pytest.mark.demand("llamacpp.local_path_model_gguf")
def test_an_attached_server() -> None:
    made = make_model(ADDRESS, {"api_key": "k", "tool_format": "generic"})
    assert isinstance(made, LlamaCppModel)
    assert made.address == "http://127.0.0.1:8080/v1"
    assert made.weights is None
    with pytest.raises(ConfigError, match="no option 'slots'"):
        make_attached_model("http://127.0.0.1:8080", {"slots": 2})
    with pytest.raises(ConfigError, match="must begin with http"):
        make_model("llama-server:127.0.0.1:8080")


@pytest.mark.parametrize("spec", ["locl", "local:", "llama-server:", "gguf"])
def test_what_is_no_spec_names_what_there_is(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"a \.gguf file, or local\..* Known: local, llama-server"):
        make_model(spec)


def test_files_of_a_table_lie_beside_it(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "mine.jinja").write_text(CHATML)
    toml = (
        '[models.a]\nspec = "tiny.gguf"\ncontext = 1024\nchat_template = "mine.jinja"\n'
        'embedding = "tiny.gguf"\n[models.b]\nspec = "local:tiny.gguf"\n'
    )
    (tmp_path / "rightseat.toml").write_text(toml)
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
    inner: Any = find_protocol(made.assistants["a"].model, CompletesText)
    assert inner.weights == model
    assert inner._server.launch.context == 1024
    assert made.assistants["a"].context == 1024
    assert inner._embedder._server.launch.model == model


@pytest.mark.demand("llamacpp.local_path_model_gguf")
@pytest.mark.parametrize(
    ("config", "flag"),
    [
        (Config(model="scripted:demo", flags={"tool_format": "hermes"}), "--tool-format"),
        (Config(model="openai:x", flags={"chat_template": "chatml"}), "--chat-template"),
        (Config(models={"m": ModelSettings(spec="scripted:demo")}, flags={"llama_server": "x"}), "--llama-server"),
    ],
)
def test_flags_are_for_local_models(config: Config, flag: str) -> None:
    with pytest.raises(ConfigError, match="is only for local models") as caught:
        build_runtime(config, env={})
    assert flag in caught.value.message


@pytest.mark.demand("llamacpp.local_path_model_gguf", "llamacpp.chosen_probing_template_overridable")
def test_flags_win_over_the_table(model: Path) -> None:
    settings = ModelSettings(spec=str(model), options={"tool_format": "generic"})
    made = build_runtime(Config(models={"m": settings}, flags={"tool_format": "hermes"}), env={})
    inner: Any = find_protocol(made.assistants["default"].model, CompletesText)
    assert inner._options.tool_format == "hermes"


@pytest.mark.demand("llamacpp.templates_model_own_chat")
async def test_which_template_is_used(model: Path, tmp_path: Path) -> None:
    server: Any = None
    own = await describe_from_file(model, parse_template_choice(None))(server)
    assert (own.sources.default, own.sources.tool_use) == (CHATML, "{{ messages }} with tools")
    assert own.control_tokens is not None
    assert "<|im_end|>" in own.control_tokens.tokens
    named = await describe_from_file(model, parse_template_choice("tool_use"))(server)
    assert (named.sources.default, named.sources.tool_use) == ("{{ messages }} with tools", None)
    (tmp_path / "mine.jinja").write_text("mine")
    given = await describe_from_file(model, parse_template_choice(str(tmp_path / "mine.jinja")))(server)
    assert given.sources.default == "mine"
    assert given.sources.eos == own.sources.eos
    assert "<|im_start|>" in (await describe_from_file(model, parse_template_choice("chatml"))(server)).sources.default
    with pytest.raises(ConfigError, match="Did you mean 'tool_use'"):
        await describe_from_file(model, parse_template_choice("tool_us"))(server)
    (tmp_path / "empty.jinja").write_text(" ")
    with pytest.raises(ConfigError, match="empty or too long"):
        parse_template_choice(str(tmp_path / "empty.jinja"))


@pytest.mark.demand("llamacpp.templates_model_own_chat")
async def test_an_attached_server_tells_its_template() -> None:
    class Server:
        async def client(self) -> "Server":
            return self

        async def get_props(self) -> dict[str, Any]:
            return {"chat_template": CHATML, "bos_token": "<s>"}

    server: Any = Server()
    known = await describe_from_server(parse_template_choice(None))(server)
    assert (known.sources.default, known.sources.bos, known.control_tokens) == (CHATML, "<s>", None)


@pytest.mark.demand("llamacpp.v1_embeddings_served_second")
def test_how_vectors_are_made(model: Path, tmp_path: Path) -> None:
    def second(**options: Any) -> LaunchOptions | None:
        made: Any = make_local_model(str(model), options)
        return None if made._embedder is None else made._embedder._server.launch

    assert second() is None
    alone = second(pooling="last")
    assert alone is not None
    assert (alone.model, alone.embedding, alone.pooling) == (model, True, "last")
    # What the model says of itself is left to it; one that says nothing is averaged.
    other = tmp_path / "bert.gguf"
    other.write_bytes(make_gguf(*make_usual_entries(make_number_entry("llama.pooling_type", 2))))
    silent = second(embedding=str(model))
    telling = second(embedding=str(other))
    assert silent is not None
    assert silent.pooling == "mean"
    assert telling is not None
    assert (telling.model, telling.pooling) == (other, None)
