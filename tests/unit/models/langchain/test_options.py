"""The spec `langchain:MODULE:NAME` and its options."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rightseat.errors import ConfigError
from rightseat.models.langchain import model
from tests.kit.cases import each_case

FILE = """
from langchain_core.language_models import GenericFakeChatModel
from tests.kit.vendors.langchain import FakeChatModel
class Named(FakeChatModel):
    model_name: str = "gpt-4o"
class place:
    chat = Named()
deaf = GenericFakeChatModel(messages=iter([]))
def make():
    return FakeChatModel()
number = 7
"""


@pytest.fixture(autouse=True)
def kit_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kit_chain.py").write_text(FILE)
    (tmp_path / "kit_keyless.py").write_text("raise ValueError('set KIT_KEY')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "kit_chain", raising=False)


def test_what_it_can_is_known_by_what_it_is() -> None:
    made = model("kit_chain:place.chat", {})
    assert made.name == "kit_chain:place.chat"
    assert (made.capabilities.images, made.capabilities.tools, made.capabilities.schema) == (True, True, False)
    assert not model("kit_chain:deaf", {}).capabilities.tools
    assert model("kit_chain:deaf", {"tools": True, "images": True}).capabilities.images


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@each_case(
    ("name", "options", "words"),
    [
        ("kit_chain", {}, "not of the form langchain:MODULE:NAME"),
        ("kit_chian:chat", {}, "langchain:kit_chian:chat: there is no module 'kit_chian'"),
        ("kit_chain:chta", {}, "langchain:kit_chain:chta: kit_chain has no 'chta'."),
        ("kit_chain:number", {}, "is a int"),
        ("kit_keyless:chat", {}, "importing kit_keyless failed: ValueError: set KIT_KEY"),
        ("kit_chain:make", {"input_kee": "x"}, "Did you mean 'input_key'?"),
        ("kit_chain:make", {"images": "x"}, "wrong option"),
        ("kit_chain:make", {"idle_timeout": 0.0}, "idle_timeout above 0"),
    ],
)
def test_a_wrong_one_says_what_to_do(name: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        model(name, options)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("binding", "client", "source"):
        monkeypatch.delitem(sys.modules, f"rightseat.models.langchain.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "langchain_core.language_models", None)
    with pytest.raises(ConfigError, match=r".*rightseat\[langchain\]"):
        model("kit_chain:make", {})


@pytest.mark.io
def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    code = "import sys, rightseat.models.langchain; sys.exit('langchain_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
