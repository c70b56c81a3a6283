"""Read plugin.json: name, description, question and auth of a plugin."""

from __future__ import annotations

import pathlib as files
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from rightseat.config.secret import Secret, is_reference
from rightseat.http.fetch.fetch import is_allowed_header
from rightseat.plugins.document import PluginDocument, UnreadableFile, read_document
from rightseat.plugins.openapi.lint import is_vague
from rightseat.plugins.plugin import AuthKind, Gravity, KeyPath, PluginAuth, Problem
from rightseat.types.text import did_you_mean


def describe_field(english: str, chinese: str) -> Meta:
    return Meta(description=english, extra={"zh": chinese})


class ManifestFields(Struct, frozen=True, kw_only=True):
    id: Annotated[
        str,
        describe_field(
            "An alias of the plugin, in lower-case letters, digits, _ and -. The plugin's id is its folder's name.",
            "插件的别名，由小写英文字母、数字、_与-组成。插件ID以文件夹名为准。",
        ),
    ] = ""
    name: Annotated[
        str,
        describe_field(
            "The name that users see, under 15 characters. Default: the folder's name.",
            "展示给用户的名称，少于15个字。默认为文件夹名。",
        ),
    ] = ""
    description: Annotated[
        str,
        describe_field(
            "What the plugin does, and its input and output. Tools are selected by it. Default: that of openapi.yaml.",
            "功能、输入与输出。用于选择工具。默认取openapi.yaml中的描述。",
        ),
    ] = ""
    predefined_question: Annotated[
        str,
        describe_field(
            "The question that is asked if the user sends none. Front ends that show suggestions show it.",
            "用户无输入时自动使用的问题，也作为建议问题展示。",
        ),
    ] = ""
    automatic_flow: Annotated[
        bool,
        describe_field(
            "Whether every operation also becomes a flow of one step.", "是否将每个API也自动转换为单步工作流。"
        ),
    ] = False
    auth: Annotated[
        Any,
        describe_field(
            "The credentials of the plugin's requests: one object as below, or a list of objects.",
            "鉴权信息：下述的一个对象，或多个对象组成的数组。",
        ),
    ] = None


class AuthFields(Struct, frozen=True, kw_only=True):
    type: Annotated[
        str,
        describe_field(
            "How it is sent: `header`, `param` (query parameter, also `params` or `query`), `cookie` or `oidc`.",
            "`header`、`param`（查询参数，亦可写`params`或`query`）、`cookie`或`oidc`。",
        ),
    ] = ""
    args: Annotated[
        dict[str, str],
        describe_field(
            "Names and values to send with every request. Write a value as `env:NAME` or `file:PATH`.",
            "键值对，随每个请求发送。值建议写为`env:变量名`或`file:路径`。",
        ),
    ] = {}
    token_url: Annotated[str, describe_field("oidc: the URL that issues tokens.", "oidc：获取令牌的地址。")] = ""
    access_token_url: Annotated[
        str,
        describe_field(
            "oidc: the original form of `token_url`: the user's token is exchanged for a token of this API.",
            "oidc：原有方式：以用户的令牌换取该API的令牌。",
        ),
    ] = ""
    grant: Annotated[
        str,
        describe_field(
            "oidc: the grant type, `client_credentials` or `token_exchange`. Default: `client_credentials`.",
            "oidc：`client_credentials`或`token_exchange`，默认为前者。",
        ),
    ] = ""
    client_id: Annotated[str, describe_field("oidc: the client id.", "oidc：客户端ID。")] = ""
    client_secret: Annotated[
        str,
        describe_field("oidc: the client secret. Write it as `env:NAME`.", "oidc：客户端密钥，建议写为`env:变量名`。"),
    ] = ""
    client_auth: Annotated[
        str,
        describe_field(
            "oidc: `basic` sends client id and secret in a header instead of the form.",
            "oidc：`basic`表示以请求头发送客户端ID与密钥。",
        ),
    ] = ""
    scope: Annotated[str, describe_field("oidc: the scope to request.", "oidc：权限范围。")] = ""
    audience: Annotated[str, describe_field("oidc: the audience of the token.", "oidc：令牌的受众。")] = ""
    header: Annotated[
        str,
        describe_field(
            "oidc: the header that carries the token. Default: Authorization.",
            "oidc：携带令牌的请求头，默认为Authorization。",
        ),
    ] = ""
    token_expire_time: Annotated[
        int,
        describe_field(
            "oidc: minutes that a token is valid if the response does not say. Also `expires_minutes`.",
            "oidc：令牌有效分钟数（响应未说明时）；亦可写`expires_minutes`。",
        ),
    ] = 0
    domain: Annotated[str, describe_field("oidc: accepted but not used.", "oidc：读取但不使用。")] = ""


AUTH_KINDS: dict[str, AuthKind] = {
    "header": "header",
    "headers": "header",
    "param": "param",
    "params": "param",
    "query": "param",
    "cookie": "cookie",
    "cookies": "cookie",
    "oidc": "oidc",
}

AUTH_KIND_NAMES = "header, param, cookie, oidc"
PLAIN_KEYS = ("type", "args")
OIDC_KEYS = (*(field.name for field in msgspec.structs.fields(AuthFields)), "expires_minutes", "access_token")
SECRET_KEYS = ("client_secret", "access_token", "refresh_token", "password", "token")
OUTSIDE_FILE_HINT = "A file anywhere else is named in `auth` of [[plugins]] in rightseat.toml."
AUTH_EXAMPLE = 'Write {"type": "header", "args": {"Authorization": "env:NAME"}}.'


class AuthReader:
    def __init__(self, document: PluginDocument, folder: files.Path) -> None:
        self.document = document
        self.folder = folder
        self.problems: list[Problem] = []

    def read(self) -> tuple[PluginAuth, ...]:
        value = self.document.value.get("auth")
        if value is None:
            return ()
        entries = value if isinstance(value, list) else [value]
        paths: list[KeyPath] = [("auth", n) if isinstance(value, list) else ("auth",) for n in range(len(entries))]
        return tuple(auth for one, path in zip(entries, paths, strict=True) for auth in self.read_entry(one, path))

    def read_entry(self, entry: Any, path: KeyPath) -> Iterator[PluginAuth]:
        if not isinstance(entry, dict):
            self.add_problem(path, "It is no object.", AUTH_EXAMPLE)
        elif not entry:
            return
        elif "type" in entry or not entry.keys() & AUTH_KINDS.keys():
            yield from self.read_typed(entry, path)
        else:
            for key in entry:
                yield from self.read_by_kind(key, entry[key], (*path, key))

    def read_typed(self, entry: dict[str, Any], path: KeyPath) -> Iterator[PluginAuth]:
        kind = AUTH_KINDS.get(str(entry.get("type", "")).strip().lower())
        if kind is None:
            what = f"There is no type {str(entry['type'])[:40]!r}." if "type" in entry else "It has no type."
            self.add_problem((*path, "type"), what, f"Write one of {AUTH_KIND_NAMES}.")
            return
        args = self.read_args(kind, entry.get("args"), (*path, "args"))
        self.check_unknown_keys(kind, entry, path)
        yield PluginAuth(kind=kind, args=args, options={} if kind != "oidc" else self.read_options(entry))

    def read_by_kind(self, key: str, value: Any, path: KeyPath) -> Iterator[PluginAuth]:
        """Read the later form: `{"header": [{"name": …, "value": …}], "oidc": {…}}`."""
        kind = AUTH_KINDS.get(key)
        if kind is None:
            self.add_problem(path, f"There is no kind {key[:40]!r}.", f"Write one of {AUTH_KIND_NAMES}.")
        elif kind == "oidc":
            if isinstance(value, dict):
                args = self.read_args(kind, value.get("args"), (*path, "args"))
                self.check_unknown_keys(kind, value, path)
                yield PluginAuth(kind=kind, args=args, options=self.read_options(value))
            elif value is not None:
                self.add_problem(path, "It is no object.", 'Write {"token_url": …, "client_id": …}.')
        elif value:
            yield PluginAuth(kind=kind, args=self.read_args(kind, value, path))

    def read_args(self, kind: AuthKind, value_or_list: Any, path: KeyPath) -> dict[str, Secret]:
        if isinstance(value_or_list, list):
            value_or_list = {
                str(one.get("name", "")): one.get("value", "") for one in value_or_list if isinstance(one, dict)
            }
        if value_or_list is not None and not isinstance(value_or_list, dict):
            self.add_problem(path, "It is no object of names and values.", AUTH_EXAMPLE)
        secrets: dict[str, Secret] = {}
        for name, value in value_or_list.items() if isinstance(value_or_list, dict) else ():
            if not isinstance(value, str | int | float) or not str(name).strip():
                self.add_problem((*path, name), "It is no text.", AUTH_EXAMPLE)
                continue
            if kind == "header" and not is_allowed_header(str(name).strip()):
                self.add_problem((*path, name), "No request can have a header of this name.", "Leave it out.")
                continue
            secrets[str(name).strip()] = Secret(str(value))
            self.check_value(kind, str(value), (*path, name))
        if not secrets and kind != "oidc":
            self.add_problem(path, "It names nothing to send.", AUTH_EXAMPLE, "warning")
        return secrets

    def check_value(self, kind: AuthKind, value: str, path: KeyPath) -> None:
        if not value and kind != "oidc":
            self.add_problem(path, "It has no value, and is not sent.", 'Write "env:NAME".', "warning")
        elif value and not is_reference(value):
            message = "The value stands in the file, where everybody can read it."
            self.add_problem(path, message, 'Write "env:NAME" or "file:PATH".', "style")

        elif is_outside_folder(value, self.folder):
            self.add_problem(path, "The file is not in the plugin's folder, and is not read.", OUTSIDE_FILE_HINT)

    def check_unknown_keys(self, kind: AuthKind, entry: dict[str, Any], path: KeyPath) -> None:
        known = OIDC_KEYS if kind == "oidc" else PLAIN_KEYS
        for key in entry:
            if key not in known and not key.startswith(("$", "x-", "_")):
                what = f"Nothing is called {key[:40]!r} here; it is passed over."
                self.add_problem((*path, key), what, did_you_mean(key, known), "warning")
            if kind == "oidc" and key in SECRET_KEYS and isinstance(entry[key], str):
                self.check_value(kind, entry[key], (*path, key))
        if kind == "oidc" and not (entry.get("token_url") or entry.get("access_token_url")):
            fix = 'Add "token_url".'
            self.add_problem((*path, "token_url"), "Nobody knows where to get a token.", fix)

    def read_options(self, entry: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in entry.items() if key not in ("type", "args")}
        return {
            key: Secret(value) if key in SECRET_KEYS and isinstance(value, str) else value
            for key, value in kept.items()
        }

    def add_problem(self, path: KeyPath, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.document.make_problem(path, what, fix, gravity))


def is_outside_folder(value: str, folder: files.Path) -> bool:
    """Whether a `file:` value lies outside the plugin's folder: untrusted plugins may send only own files."""
    if not value.startswith("file:"):
        return False
    name = value.removeprefix("file:").strip()
    return name.startswith("~") or not (folder / name).resolve().is_relative_to(folder.resolve())


MANIFEST_FILE = "plugin.json"
MAX_NAME_LENGTH = 15
MAX_TEXT_LENGTH = 4_000
MAX_ALIAS_LENGTH = 100
ALIAS_FIX = "Write the folder's name there, or leave `id` out."
ID_PATTERN = re.compile(r"[a-z0-9_.-]+")
_ALIAS_PATTERN = re.compile(r"[\w. -]+")


class PluginManifest(Struct, frozen=True, kw_only=True):
    """Content of plugin.json; missing values are empty."""

    name: str = ""
    description: str = ""
    alias: str = ""
    question: str = ""
    automatic_flow: bool = False
    auth: tuple[PluginAuth, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    """The file could not be read."""


def read_manifest(folder: Path) -> PluginManifest:
    try:
        document = read_document(folder, MANIFEST_FILE)
    except UnreadableFile as error:
        return PluginManifest(problems=(error.problem,), broken=True)
    if not isinstance(document.value, dict):
        fix = "`rightseat plugins new NAME` writes one to begin with."
        problem = document.make_problem((), "It is no JSON object.", fix)
        return PluginManifest(problems=(*document.problems, problem), broken=True)
    return ManifestReader(document, folder).read()


class ManifestReader:
    def __init__(self, document: PluginDocument, folder: Path) -> None:
        self.document, self.folder = document, folder
        self.problems = list(document.problems)

    def read(self) -> PluginManifest:
        self.check_unknown_keys()
        auths = AuthReader(self.document, self.folder)
        auth = auths.read()
        manifest = PluginManifest(
            name=self.read_name(),
            description=self.read_description(),
            alias=self.read_alias(),
            question=self.read_text("predefined_question"),
            automatic_flow=self.read_automatic_flow(),
            auth=auth,
        )
        return msgspec.structs.replace(manifest, problems=(*self.problems, *auths.problems))

    def check_unknown_keys(self) -> None:
        known = [field.name for field in msgspec.structs.fields(ManifestFields)]
        for key in self.document.value:
            if key not in known and not key.startswith(("$", "x-", "_")):
                self.add_problem(
                    key, f"Nothing is called {key[:40]!r} here; it is passed over.", did_you_mean(key, known)
                )

    def read_text(self, key: str) -> str:
        value = self.document.value.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value.strip()[:MAX_TEXT_LENGTH]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.add_problem(key, "It is no text, and is passed over.", "Write it in double quotes.")
        return ""

    def read_name(self) -> str:
        name = self.read_text("name")
        if not name:
            self.add_problem("name", "The plugin has no name; its folder's is shown.", 'Add "name".')
        elif len(name) >= MAX_NAME_LENGTH:
            what = f"The name has {len(name)} characters; under {MAX_NAME_LENGTH} are shown well."
            self.add_problem("name", what, "Shorten it.", "style")
        return name

    def read_description(self) -> str:
        text = self.read_text("description")
        if not text:
            what = "The plugin has no description; that of its API is taken, if there is one."
            self.add_problem("description", what, "Say what it does, what it takes and what it gives back.")
        elif is_vague(text):
            fix = "Say what it does, what it takes and what it gives back."
            self.add_problem("description", f"The description is vague: {text!r}.", fix, "style")
        return text

    def read_alias(self) -> str:
        alias = self.read_text("id")
        if alias and (not _ALIAS_PATTERN.fullmatch(alias) or len(alias) > MAX_ALIAS_LENGTH or ".." in alias):
            what = "It has other than letters, digits, _ and -; it is passed over."
            self.add_problem("id", what, ALIAS_FIX)
            return ""
        if alias and not ID_PATTERN.fullmatch(alias):
            what = f"{alias!r} is not in lower-case letters, digits, _ and -."
            self.add_problem("id", what, ALIAS_FIX, "style")
        if alias and alias != self.folder.name:
            what = f"It differs from the folder's name; {alias!r} is an alias."
            self.add_problem("id", what, "Give both the same name.", "style")
        return alias if alias != self.folder.name else ""

    def read_automatic_flow(self) -> bool:
        value: Any = self.document.value.get("automatic_flow", False)
        if isinstance(value, bool):
            return value
        self.add_problem("automatic_flow", "It is neither true nor false.", "Write true or false, without quotes.")
        return str(value).strip().lower() == "true"

    def add_problem(self, key: str, what: str, fix: str, gravity: Gravity = "warning") -> None:
        self.problems.append(self.document.make_problem((key,), what, fix, gravity))
