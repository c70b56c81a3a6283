"""What an oidc auth needs: its grant, the header of its token, and a caller's token where it exchanges one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightseat.plugins.manifest import MANIFEST_FILE
from rightseat.plugins.plugin import Plugin, PluginAuth, Problem
from rightseat.plugins.plugin_file import UnreadableFile, read_document

TOKEN_EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
LEGACY_EXCHANGE = "exchange"
EXCHANGE_GRANTS = (LEGACY_EXCHANGE, TOKEN_EXCHANGE_GRANT)
GRANT_ALIASES = {"token_exchange": TOKEN_EXCHANGE_GRANT, "token-exchange": TOKEN_EXCHANGE_GRANT}
CALLER_TOKEN = "access_token"
CALLER_TOKEN_FIX = (
    'Write user_headers = {access_token = "X-Access-Token"} in its [[plugins]] of rightseat.toml, '
    'and forward_headers = ["X-Access-Token"] in [server].'
)


def get_text_option(auth: PluginAuth, name: str) -> str:
    value = auth.options.get(name)
    return value if isinstance(value, str) else ""


def resolve_grant(auth: PluginAuth) -> str:
    # `access_token_url` is the key of the legacy exchange, which has no `grant`.
    default_grant = LEGACY_EXCHANGE if get_text_option(auth, "access_token_url") else "client_credentials"
    grant = get_text_option(auth, "grant")
    return GRANT_ALIASES.get(grant, grant) or default_grant


def resolve_header(auth: PluginAuth) -> str:
    """Return the request header that carries the token."""
    default_header = "access-token" if resolve_grant(auth) == LEGACY_EXCHANGE else "Authorization"
    return get_text_option(auth, "header") or next(iter(auth.args), default_header)


def find_missing_caller_token(
    plugin: Plugin, user_headers: Mapping[str, str], credentials: Mapping[str, Any]
) -> Problem | None:
    """Return the problem of an auth that exchanges the caller's token, if neither plugin.json nor these settings say
    where that token comes from: the first call would fail."""
    for auth in plugin.auth:
        if auth.kind != "oidc" or resolve_grant(auth) not in EXCHANGE_GRANTS:
            continue
        header = resolve_header(auth)
        is_set = has_name(user_headers, header, CALLER_TOKEN) or has_name(credentials, CALLER_TOKEN)
        if not is_set and not auth.args.get(header) and not auth.options.get(CALLER_TOKEN):
            what = "The user's own token is exchanged, and no setting says which header of the request brings it."
            return Problem(MANIFEST_FILE, "auth", what, CALLER_TOKEN_FIX, find_auth_line(plugin), "warning")
    return None


def has_name(names: Iterable[str], *wanted: str) -> bool:
    return bool({name.lower() for name in names} & {name.lower() for name in wanted})


def find_auth_line(plugin: Plugin) -> int:
    try:
        return read_document(plugin.folder, MANIFEST_FILE).line_index.find_line(("auth",))
    except UnreadableFile:
        return 0
