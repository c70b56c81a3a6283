"""Front ends and how each is connected to this server, step by step, with a key and without one.

A text in a shell reads the key from the variable RIGHTSEAT_KEY, in double quotes, so that the shell fills it in, and a
program reads it from its environment. In other texts `$RIGHTSEAT_KEY` stands for the key itself, which the page puts
there when the text is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from yarl import URL

from rightseat.types.language import Language

KEY = "$RIGHTSEAT_KEY"
Words = dict[Language, str]
StepKind = Literal["shell", "code", "text"]


class StepTexts(Struct, frozen=True):
    """The text of a step, for a server that needs a key and for one that needs none."""

    key: str
    open: str


class FrontEndStep(Struct, frozen=True, kw_only=True):
    """One step: a title, the place that the text is for, and the text to copy."""

    title: Words
    file: str
    text: StepTexts
    kind: StepKind = "code"
    note: Words = {}


class FrontEnd(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    badge: str
    protocol: str
    group: Literal["apps", "product", "agents"]
    about: Words
    steps: tuple[FrontEndStep, ...]


TERMINAL = "Terminal"
_START: Words = {"en": "Start it", "zh": "启动"}
_INSTALL: Words = {"en": "Install the package", "zh": "安装软件包"}
_RUN: Words = {"en": "Ask a question", "zh": "提一个问题"}
_AS_OPENAI: Words = {
    "en": "It talks to rightseat as to OpenAI. Your assistants appear in its list of models.",
    "zh": "它像访问 OpenAI 一样访问 rightseat。你的助手会出现在它的模型列表中。",
}


def _same(text: str) -> StepTexts:
    return StepTexts(text, text)


def _shell(title: Words, keyed: str, open: str | None = None, note: Words | None = None) -> FrontEndStep:
    texts = StepTexts(keyed, keyed if open is None else open)
    return FrontEndStep(title=title, file=TERMINAL, text=texts, kind="shell", note=note or {})


def list_front_ends(base: str) -> Iterator[FrontEnd]:
    """Yield every front end with the steps that connect it to the server at `base`."""
    yield _open_webui(base)
    yield _openbb(base)
    yield _librechat(base)
    yield _copilotkit(base)
    yield _agui(base)
    yield _openai_python(base)
    yield _openai_javascript(base)
    yield _claude_code(base)
    yield _mcp(base)
    yield _curl(base)


def _open_webui(base: str) -> FrontEnd:
    url = URL(base)
    inside = str(url.with_host("host.docker.internal")).rstrip("/") if url.host else base
    image = "ghcr.io/open-webui/open-webui:main"
    # On Linux a container does not reach the loopback of its host, except in the host's own network.
    linux = f'docker run -d --network=host -e PORT=3000 \\\n  -e OPENAI_API_BASE_URL="{base}/v1" \\\n'
    desktop = f'docker run -d -p 3000:8080 \\\n  -e OPENAI_API_BASE_URL="{inside}/v1" \\\n'
    key, none = f'  -e OPENAI_API_KEY="{KEY}" \\\n  {image}', f'  -e OPENAI_API_KEY="none" \\\n  {image}'
    hosts = '[server]\nhosts = ["host.docker.internal"]'
    return FrontEnd(
        id="open-webui",
        title="Open WebUI",
        badge="OW",
        protocol="OpenAI",
        group="apps",
        about=_AS_OPENAI,
        steps=(
            _shell(
                {"en": "Start it with Docker on Linux", "zh": "在 Linux 上用 Docker 启动"}, linux + key, linux + none
            ),
            FrontEndStep(
                title={"en": "Or with Docker Desktop: let it call", "zh": "或用 Docker Desktop：允许它访问"},
                note={
                    "en": "Only requests to this machine's own names are answered until you name others.",
                    "zh": "在你列出其他名称之前，只回答发往本机名称的请求。",
                },
                file="rightseat.toml",
                text=_same(hosts),
            ),
            _shell({"en": "and start it", "zh": "然后启动"}, desktop + key, desktop + none),
        ),
    )


def _openbb(base: str) -> FrontEnd:
    key_step = FrontEndStep(
        title={"en": "Under Authentication add a header", "zh": "在 Authentication 中添加请求头"},
        note={"en": "Name: X-API-KEY. Its value is the key:", "zh": "名称：X-API-KEY。值为密钥："},
        file="X-API-KEY",
        text=StepTexts(KEY, ""),
        kind="text",
    )
    return FrontEnd(
        id="openbb",
        title="OpenBB Workspace",
        badge="OB",
        protocol="OpenBB",
        group="apps",
        about={
            "en": "Your assistants become agents of the Workspace, with its widgets as their data.",
            "zh": "你的助手成为 Workspace 的智能体，并可使用其组件中的数据。",
        },
        steps=(
            FrontEndStep(
                title={"en": "Agents → Add Agent: this address", "zh": "Agents → Add Agent：此地址"},
                file="URL",
                text=_same(base),
                kind="text",
            ),
            key_step,
        ),
    )


def _librechat(base: str) -> FrontEnd:
    def config(key: str) -> str:
        return (
            "version: 1.2.8\nendpoints:\n  custom:\n    - name: rightseat\n"
            f'      apiKey: "{key}"\n      baseURL: "{base}/v1"\n'
            '      models:\n        default: ["default"]\n        fetch: true'
        )

    return FrontEnd(
        id="librechat",
        title="LibreChat",
        badge="LC",
        protocol="OpenAI",
        group="apps",
        about=_AS_OPENAI,
        steps=(
            FrontEndStep(
                title={"en": "Add an endpoint", "zh": "添加端点"},
                note={
                    "en": "LibreChat reads RIGHTSEAT_KEY from its own .env file.",
                    "zh": "LibreChat 从自己的 .env 文件读取 RIGHTSEAT_KEY。",
                },
                file="librechat.yaml",
                text=StepTexts(config("${RIGHTSEAT_KEY}"), config("none")),
            ),
        ),
    )


def _copilotkit(base: str) -> FrontEnd:
    def component(headers: str) -> str:
        return (
            'import { CopilotKit } from "@copilotkit/react-core";\n'
            'import { CopilotSidebar } from "@copilotkit/react-ui";\n'
            'import "@copilotkit/react-ui/styles.css";\n\n'
            "export default function App() {\n  return (\n"
            f'    <CopilotKit runtimeUrl="{base}/copilotkit"{headers}>\n'
            "      <CopilotSidebar />\n    </CopilotKit>\n  );\n}"
        )

    key = " headers={{ Authorization: `Bearer ${process.env.RIGHTSEAT_KEY}` }}"
    return FrontEnd(
        id="copilotkit",
        title="CopilotKit (React)",
        badge="CK",
        protocol="CopilotKit",
        group="product",
        about={"en": "A sidebar in your own React application.", "zh": "在你自己的 React 应用中显示侧边栏。"},
        steps=(
            _shell(_INSTALL, "npm install @copilotkit/react-core @copilotkit/react-ui"),
            FrontEndStep(
                title={"en": "Wrap your application", "zh": "包装你的应用"},
                note={
                    "en": "A page from another address needs a line in [server] cors of rightseat.toml.",
                    "zh": "来自其他地址的页面需要在 rightseat.toml 的 [server] cors 中列出。",
                },
                file="App.jsx",
                text=StepTexts(component(key), component("")),
            ),
        ),
    )


def _agui(base: str) -> FrontEnd:
    def script(headers: str) -> str:
        return (
            'import { HttpAgent } from "@ag-ui/client";\n\n'
            f'const agent = new HttpAgent({{ url: "{base}/agui/default"{headers} }});\n'
            'agent.messages = [{ id: "1", role: "user", content: "Hello" }];\n'
            "const { newMessages } = await agent.runAgent({});\n"
            "console.log(newMessages.at(-1).content);"
        )

    key = ", headers: { Authorization: `Bearer ${process.env.RIGHTSEAT_KEY}` }"
    return FrontEnd(
        id="agui",
        title="AG-UI (JavaScript)",
        badge="AG",
        protocol="AG-UI",
        group="product",
        about={"en": "Every event of a run, in a client of your own.", "zh": "在你自己的客户端中获得运行的每个事件。"},
        steps=(
            _shell(_INSTALL, "npm install @ag-ui/client"),
            FrontEndStep(title=_RUN, file="ask.mjs", text=StepTexts(script(key), script(""))),
        ),
    )


def _openai_python(base: str) -> FrontEnd:
    def script(start: str, key: str) -> str:
        return (
            f'{start}from openai import OpenAI\n\nclient = OpenAI(base_url="{base}/v1", api_key={key})\n'
            'messages = [{"role": "user", "content": "Hello"}]\n'
            'answer = client.chat.completions.create(model="default", messages=messages)\n'
            "print(answer.choices[0].message.content)"
        )

    keyed, open_ = script("import os\n\n", 'os.environ["RIGHTSEAT_KEY"]'), script("", '"none"')
    return FrontEnd(
        id="openai-python",
        title="OpenAI (Python)",
        badge="Py",
        protocol="OpenAI",
        group="product",
        about={"en": "OpenAI's own library, with another address.", "zh": "OpenAI 官方库，只换地址。"},
        steps=(
            _shell(_INSTALL, "pip install openai"),
            FrontEndStep(title=_RUN, file="ask.py", text=StepTexts(keyed, open_)),
        ),
    )


def _openai_javascript(base: str) -> FrontEnd:
    def script(key: str) -> str:
        return (
            'import OpenAI from "openai";\n\n'
            f'const client = new OpenAI({{ baseURL: "{base}/v1", apiKey: {key} }});\n'
            'const messages = [{ role: "user", content: "Hello" }];\n'
            'const answer = await client.chat.completions.create({ model: "default", messages });\n'
            "console.log(answer.choices[0].message.content);"
        )

    return FrontEnd(
        id="openai-javascript",
        title="OpenAI (JavaScript)",
        badge="JS",
        protocol="OpenAI",
        group="product",
        about={"en": "OpenAI's own library, with another address.", "zh": "OpenAI 官方库，只换地址。"},
        steps=(
            _shell(_INSTALL, "npm install openai"),
            FrontEndStep(
                title=_RUN, file="ask.mjs", text=StepTexts(script("process.env.RIGHTSEAT_KEY"), script('"none"'))
            ),
        ),
    )


def _claude_code(base: str) -> FrontEnd:
    line = f"claude mcp add --transport http rightseat {base}/mcp"
    return FrontEnd(
        id="claude-code",
        title="Claude Code",
        badge="CC",
        protocol="MCP",
        group="agents",
        about={
            "en": "Your assistants and the tools of your plugins become its tools.",
            "zh": "你的助手和插件工具成为它的工具。",
        },
        steps=(
            _shell(
                {"en": "Add this server", "zh": "添加此服务器"}, f'{line} --header "Authorization: Bearer {KEY}"', line
            ),
        ),
    )


def _mcp(base: str) -> FrontEnd:
    def config(headers: str) -> str:
        return f'{{\n  "mcpServers": {{\n    "rightseat": {{ "type": "http", "url": "{base}/mcp"{headers} }}\n  }}\n}}'

    return FrontEnd(
        id="mcp",
        title="Other MCP clients",
        badge="MC",
        protocol="MCP",
        group="agents",
        about={"en": "Any MCP client with streamable HTTP.", "zh": "任何支持 streamable HTTP 的 MCP 客户端。"},
        steps=(
            FrontEndStep(
                title={"en": "Add this server to its configuration", "zh": "将此服务器加入其配置"},
                file="mcp.json",
                text=StepTexts(config(f', "headers": {{ "Authorization": "Bearer {KEY}" }}'), config("")),
            ),
        ),
    )


def _curl(base: str) -> FrontEnd:
    head = f"curl {base}/v1/chat/completions"
    body = """-H 'content-type: application/json' -d '{"messages":[{"role":"user","content":"Hello"}]}'"""
    return FrontEnd(
        id="curl",
        title="curl",
        badge="$_",
        protocol="OpenAI",
        group="agents",
        about={"en": "One request, one answer.", "zh": "一个请求，一个回答。"},
        steps=(_shell(_RUN, f'{head} -H "Authorization: Bearer {KEY}" {body}', f"{head} {body}"),),
    )
