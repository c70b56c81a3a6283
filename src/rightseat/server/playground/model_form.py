"""ModelForm: the model that a person describes on the page, as ModelSettings and as a table of rightseat.toml."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from rightseat.config.edit import TomlValue, format_table
from rightseat.config.secret import Secret
from rightseat.config.settings import ModelSettings
from rightseat.errors import CallerError, ConfigError
from rightseat.models.openai.known_servers import KNOWN_SERVERS
from rightseat.wiring.lookup import LOCAL

ProviderName = Literal["ollama", "lmstudio", "openai", "anthropic", "google", "azure", "compatible", "gguf"]
KEY_FOLDER = "keys"
MAX_TEXT = 2000


class ModelForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page posts. The key is in no answer and in no log."""

    provider: ProviderName
    model: str = ""
    """The model's name at its server; the path of a GGUF file."""
    base_url: str = ""
    api_key: str = ""
    deployment: str = ""
    api_version: str = ""
    fallback: bool = False
    """Whether the embedded model answers where this one fails before its first token."""
    write: bool = False
    """Whether the model is written to rightseat.toml too."""

    def check(self, *, is_named: bool = True) -> ModelForm:
        """Return the form. Raises CallerError for what no server could use. `is_named`: it must name a model."""
        # Known to the log's filter from here on.
        Secret(self.api_key)
        for name in ("model", "base_url", "api_key", "deployment", "api_version"):
            value: str = getattr(self, name)
            if len(value) > MAX_TEXT or not value.isprintable():
                raise CallerError(f"{name}: use printable characters, at most {MAX_TEXT}.", param=name)
        if is_named and not self.model.strip():
            raise CallerError("Name the model.", param="model")
        if is_named and self.provider == "gguf" and not self.model.strip().lower().endswith(".gguf"):
            raise CallerError("Give the path of a .gguf file on the server's machine.", param="model")
        if self.provider in ("azure", "compatible") and not self.base_url.strip():
            raise CallerError("Name the server's address, such as http://127.0.0.1:8000/v1.", param="base_url")
        return self

    @property
    def spec(self) -> str:
        name = self.model.strip()
        if self.provider == "gguf":
            return str(Path(name).expanduser().absolute())
        kind = {"azure": "openai", "compatible": "openai"}.get(self.provider, self.provider)
        if self.provider == "compatible" and self.base_url.strip() == KNOWN_SERVERS["vllm"].base_url:
            kind = "vllm"
        return f"{kind}:{name}"

    def list_options(self) -> dict[str, str]:
        """Return the options of the model without its key."""
        if self.provider == "gguf":
            return {}
        known = KNOWN_SERVERS.get(self.spec.partition(":")[0])
        url = self.base_url.strip()
        is_usual = not url or (known is not None and url.rstrip("/") == known.find_base_url())
        address = {} if is_usual else {"azure_endpoint" if self.provider == "azure" else "base_url": url}
        azure = {"deployment": self.deployment.strip(), "api_version": self.api_version.strip()}
        return address | ({name: text for name, text in azure.items() if text} if self.provider == "azure" else {})

    def make_settings(self) -> ModelSettings:
        key: dict[str, Any] = {"api_key": Secret(self.api_key)} if self.api_key else {}
        fallbacks = (LOCAL,) if self.fallback else ()
        return ModelSettings(spec=self.spec, fallbacks=fallbacks, options={**self.list_options(), **key})

    def make_table(self, key_reference: str = "") -> dict[str, TomlValue]:
        """Return the keys of the model's table; `key_reference` is where the key is kept."""
        table: dict[str, TomlValue] = {"spec": self.spec, **self.list_options()}
        if key_reference:
            table["api_key"] = key_reference
        return table | ({"fallbacks": (LOCAL,)} if self.fallback else {})

    def format_table(self, name: str, key_reference: str = "") -> str:
        return format_table(("models", name), self.make_table(key_reference))


def keep_key(folder: Path, provider: str, key: str) -> Path:
    """Write a key to a file of its own in the data folder, which only this user can read; return the file. A key that
    is kept already is not written twice."""
    keys = folder / KEY_FOLDER
    try:
        keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in keys.glob(f"{provider}-*.key"):
            if path.is_file() and not path.is_symlink() and path.read_text("utf-8") == key:
                path.chmod(stat.S_IRUSR | stat.S_IWUSR)
                return path.resolve()
        path = keys / f"{provider}-{secrets.token_hex(4)}.key"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(key)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"The key cannot be kept in {keys}: {reason}.") from None
    return path.resolve()
