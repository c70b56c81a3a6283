"""Keys of plugin.json with their descriptions, for the reader and for docs/reference."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct


def describe_field(english: str, chinese: str) -> Meta:
    return Meta(description=english, extra={"zh": chinese})


class ManifestFields(Struct, frozen=True, kw_only=True):
    id: Annotated[
        str,
        describe_field(
            "Another name of the plugin; its id is its folder's name. Lower-case letters, digits, _ and -.",
            "插件的别名；插件ID以文件夹名为准。小写英文字母、数字、_与-。",
        ),
    ] = ""
    name: Annotated[
        str,
        describe_field(
            "Shown to people. Under 15 characters. [the folder's name]",
            "展示给用户的名称，少于15个字。默认为文件夹名。",
        ),
    ] = ""
    description: Annotated[
        str,
        describe_field(
            "What it does, takes and gives. Tools are chosen by it. [that of openapi.yaml]",
            "功能、输入与输出。用于选择工具。默认取openapi.yaml中的描述。",
        ),
    ] = ""
    predefined_question: Annotated[
        str,
        describe_field(
            "Asked where the user asks nothing, and a suggestion at the doors that show some.",
            "用户无输入时自动使用的问题，也作为建议问题展示。",
        ),
    ] = ""
    automatic_flow: Annotated[
        bool, describe_field("Every operation is a flow of its own too.", "是否将每个API自动拆分为Flow。")
    ] = False
    auth: Annotated[
        Any,
        describe_field(
            "How calls say who calls: one object as below, or a list of them.",
            "鉴权信息：下述的一个对象，或多个对象组成的数组。",
        ),
    ] = None


class AuthFields(Struct, frozen=True, kw_only=True):
    type: Annotated[
        str,
        describe_field(
            "`header`, `param` (of the query; `params` and `query` mean the same), `cookie` or `oidc`.",
            "`header`、`param`（查询参数，亦可写`params`或`query`）、`cookie`或`oidc`。",
        ),
    ] = ""
    args: Annotated[
        dict[str, str],
        describe_field(
            "Names and values, sent with every request. Values best as `env:NAME` or `file:PATH`.",
            "键值对，随每个请求发送。值建议写为`env:变量名`或`file:路径`。",
        ),
    ] = {}
    token_url: Annotated[str, describe_field("oidc: where a token is had.", "oidc：获取令牌的地址。")] = ""
    access_token_url: Annotated[
        str,
        describe_field(
            "oidc: the same in the original way: the user's token is exchanged for one of this API.",
            "oidc：原有方式：以用户的令牌换取该API的令牌。",
        ),
    ] = ""
    grant: Annotated[
        str,
        describe_field(
            "oidc: `client_credentials` or `token_exchange`. [client_credentials]",
            "oidc：`client_credentials`或`token_exchange`，默认为前者。",
        ),
    ] = ""
    client_id: Annotated[str, describe_field("oidc: who we are.", "oidc：客户端ID。")] = ""
    client_secret: Annotated[
        str, describe_field("oidc: best as `env:NAME`.", "oidc：客户端密钥，建议写为`env:变量名`。")
    ] = ""
    client_auth: Annotated[
        str,
        describe_field(
            "oidc: `basic` sends id and secret as a header, not in the form.",
            "oidc：`basic`表示以请求头发送客户端ID与密钥。",
        ),
    ] = ""
    scope: Annotated[str, describe_field("oidc: what is asked for.", "oidc：权限范围。")] = ""
    audience: Annotated[str, describe_field("oidc: for whom the token is.", "oidc：令牌的受众。")] = ""
    header: Annotated[
        str,
        describe_field(
            "oidc: the header that carries the token. [Authorization]", "oidc：携带令牌的请求头。"
        ),
    ] = ""
    token_expire_time: Annotated[
        int,
        describe_field(
            "oidc: minutes that a token holds where the answer does not say; `expires_minutes` too.",
            "oidc：令牌有效分钟数（响应未说明时）；亦可写`expires_minutes`。",
        ),
    ] = 0
    domain: Annotated[str, describe_field("oidc: read and not used.", "oidc：读取但不使用。")] = ""
