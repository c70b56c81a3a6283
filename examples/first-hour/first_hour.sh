#!/usr/bin/env bash
# The first hour with rightseat, from nothing to a server with a key: docs/start.md explains each step.
#
#   bash examples/first-hour/first_hour.sh [FOLDER]      # default: ./first-hour, which must not exist
#
# OPENAI_API_KEY     use OpenAI's model; without it a script answers, so that every step can be tried offline
# INSTALL            what pip installs in step 1, the name rightseat or a wheel; without it step 1 clones this repository
# RIGHTSEAT          the command, if it is installed already; without it a clone sets up its .venv/
# PYTHON             the interpreter for INSTALL; default: python3
# PORT               default: 7777
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-first-hour}
port=${PORT:-7777}
url=http://127.0.0.1:$port
server=

say() { printf '\n== %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

stop_server() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
    server=
}
trap stop_server EXIT

start_server() {
    stop_server
    "$RIGHTSEAT" serve --port "$port" "$@" > server.log 2>&1 &
    server=$!
    for _ in $(seq 600); do
        curl -sf "$url/ready" > /dev/null && return
        kill -0 "$server" 2>/dev/null || { cat server.log >&2; fail "the server has ended"; }
        sleep 0.2
    done
    cat server.log >&2
    fail "the server is not ready after two minutes"
}

# ask QUESTION [HEADER]: print the answer's text.
ask() {
    curl -sf "$url/v1/chat/completions" ${2:+-H "$2"} \
        -d "{\"messages\": [{\"role\": \"user\", \"content\": \"$1\"}]}" |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["choices"][0]["message"]["content"])'
}

expect() {
    echo "$2"
    [[ $2 == *"$1"* ]] || fail "expected an answer with: $1"
}

# check_page: the page in a browser, and every script and style sheet that it names.
check_page() {
    curl -sf -H "Accept: text/html" "$url/" > page.html || fail "there is no page at $url/"
    grep -q '<script type="module"' page.html || fail "the page at $url/ has no script"
    for path in $(grep -oE '(src|href)="[^"]+"' page.html | cut -d'"' -f2); do
        curl -sf -o /dev/null "$url/$path" || fail "the page needs $path, which is not there"
    done
    rm page.html
}

# A wheel is named from here, and installed there.
[ ! -f "${INSTALL:-}" ] || INSTALL=$(cd "$(dirname "$INSTALL")" && pwd)/$(basename "$INSTALL")
mkdir "$folder"
cd "$folder"
if [ -n "${INSTALL:-}" ]; then
    say "1. Install"
    "${PYTHON:-python3}" -m venv venv
    venv/bin/pip install --quiet "$INSTALL"
    RIGHTSEAT=$PWD/venv/bin/rightseat
else
    say "1. Clone"
    git clone --quiet --depth 1 "file://$repository" rightseat
    if [ -z "${RIGHTSEAT:-}" ]; then
        make --no-print-directory -C rightseat .venv/.run
        RIGHTSEAT=$PWD/rightseat/.venv/bin/rightseat
    fi
fi
python=$(dirname "$RIGHTSEAT")/python
"$RIGHTSEAT" --version

say "2. Serve: the demo, with a script in place of a model"
start_server --model scripted:demo
check_page
expect "demo" "$(ask "Hello")"

say "3. Your own model"
if [ -n "${OPENAI_API_KEY:-}" ]; then
    spec=openai:gpt-5-mini
else
    spec=scripted:script.json
    cat > script.json << 'JSON'
{"turns": [
  {"when": {"tool": "days_until"}, "say": "It is {result} days."},
  {"when": {"tool": "inventory_uptime_in_words"}, "say": "It has been up for {result}."},
  {"when": {"user": "How many days", "offered": "days_until"}, "calls": [{"name": "days_until", "arguments": {"date": "2999-01-01", "today": "2998-12-30"}}]},
  {"when": {"user": "90061 seconds", "offered": "inventory_uptime_in_words"}, "calls": [{"name": "inventory_uptime_in_words", "arguments": {"seconds": 90061}}]},
  {"when": {}, "say": "You said: {user}"}
]}
JSON
fi
cat > rightseat.toml << TOML
[models.default]
spec = "$spec"
TOML
start_server
answer=$(ask "Say the word seat.")
expect "seat" "$answer"

say "4. Your own tool"
cat > calendar_tools.py << 'PYTHON'
from datetime import date as Date

from rightseat import tool


@tool
def days_until(date: str, today: str = "") -> int:
    """Count the days until a date. Dates are written as 2026-12-31; `today` is left out for the present day."""
    start = Date.fromisoformat(today) if today else Date.today()
    return (Date.fromisoformat(date) - start).days
PYTHON
cat >> rightseat.toml << 'TOML'

[assistants.default]
system = "You are brief. Use your tools for dates and times."
tools = ["calendar_tools:days_until"]
TOML
start_server
expect "2" "$(ask "How many days are there from 2998-12-30 until 2999-01-01?")"

say "5. Your own plugin"
export INVENTORY_TOKEN=any
"$RIGHTSEAT" plugins new inventory
"$RIGHTSEAT" plugins check --strict inventory
cat >> rightseat.toml << 'TOML'

[[plugins]]
path = "inventory"
TOML
start_server
expect "1 d 1 h" "$(ask "How long is 90061 seconds? Use uptime_in_words.")"

say "6. Deploy with a key"
RIGHTSEAT_KEY=$("$python" -c 'import secrets; print(secrets.token_urlsafe(24))')
export RIGHTSEAT_KEY
cat >> rightseat.toml << 'TOML'

[auth.keys]
me = "env:RIGHTSEAT_KEY"
TOML
start_server
status=$(curl -s -o /dev/null -w '%{http_code}' "$url/v1/models")
[ "$status" = 401 ] || fail "without the key the status is $status, not 401"
expect "seat" "$(ask "Say the word seat." "Authorization: Bearer $RIGHTSEAT_KEY")"
"$RIGHTSEAT" doctor --url "$url" --key env:RIGHTSEAT_KEY

say "Done. Your files are in $PWD. Next: docs/howto/proxy.md puts TLS in front of it."
