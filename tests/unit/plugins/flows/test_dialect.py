"""Flows of EulerCopilot 0.9.3: `statement`, `propose`, `reformat`, `storage`, `last`, Jinja; nothing is passed over."""

import json
import sqlite3
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Plugin, Problem
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import Runtime
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

MACHINES = {"result": {"machines": [{"id": "m-1", "data": "load 7"}]}}

# Each kind of step as the original's example has it, with Jinja's braces.
FLOW = """
id: test
description: 测试工作流
on_error:
  call_type: llm
  params:
    user_prompt: |
      {% if context %}
      背景信息：{{ context }}
      {% endif %}
      错误信息：
      {{ last.output }}
steps:
  - name: start
    call_type: api
    params: {endpoint: GET /hosts, values: {}}
    next: flow_choice
  - name: flow_choice
    call_type: choice
    params:
      propose: 工具的返回值是否包含有效数据？
      choices:
        - {step: get_report, description: 存在有效数据}
        - {step: get_data, description: 不存在有效数据}
  - name: get_report
    call_type: llm
    params:
      user_prompt: |
        报告 {{ start.output.result.machines[0].id }}
        测试数据：{{ storage[-1].output.result.machines[0].data }}
        {% if not start.output.nothing %}{% endif %}{% if start.output.result.machines %}
        有机器
        {% else %}
        没有机器
        {% endif %}
    next: end
  - name: get_data
    call_type: sql
    params: {statement: select name from hosts where id = 2;}
    next: shown
  - name: shown
    call_type: reformat
    params: {data: {names: "{{ last.output.name }}", first: "{{ start.output.result.machines[0].id }}"}}
    next: end
  - name: end
    call_type: reformat
    params:
      text: |
        # 测试报告
        机器ID： {{ start.output.result.machines[0].id }}
        {% if storage[-1].output.names %}
        名称：{{ storage[-1].output.names }}
        {% else %}
        解析：{{ storage[-1].message }}
        {% endif %}
next_flow:
  - id: test
    question: 再来一次？
"""
LIB = """
class Fill:
    name = "fill"
    description = "Fills a template."

    def __init__(self, params):
        self.params = params

    async def call(self, fixed_params):
        return {"output": self.params["template"], "message": "Filled."}


exported = [Fill]
"""
RuntimeFactory = Callable[..., Runtime]


def write_flow(folder: Path, text: str, url: str = "http://127.0.0.1:9") -> Path:
    home = write_api_plugin(folder / "plugins" / "euler", url)
    (home / "flows").mkdir(exist_ok=True)
    (home / "flows" / "test.yaml").write_text(text, "utf-8")
    return home


def read_flow(folder: Path, text: str) -> Plugin:
    return read_plugin(write_flow(folder, text))


def write_steps(*steps: dict[str, Any], **more: Any) -> str:
    """A flow of these steps as YAML; the first is `start`."""
    named = [{"name": "start" if number == 0 else f"s{number}", **step} for number, step in enumerate(steps)]
    chained = [{**step, "next": following["name"]} for step, following in pairwise(named)]
    return json.dumps({"name": "test", "description": "d", "steps": [*chained, named[-1]], **more})


def list_problems(plugin: Plugin, gravity: str) -> list[Problem]:
    return [problem for problem in plugin.problems if problem.gravity == gravity]


@pytest.fixture
def make_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeFactory:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect(tmp_path / "hosts.db") as database:
        database.execute("create table hosts (id integer, name text)")
        database.executemany("insert into hosts values (?, ?)", [(1, "web-01"), (2, "db-02")])
    database.close()

    def make(text: str, url: str, choice: str = "get_data") -> Runtime:
        turns = [
            {"when": {"user": "SELECT statement"}, "say": '{"sql": "select name from hosts where id = 1"}'},
            {"when": {"user": "工具的返回值是否包含有效数据"}, "say": json.dumps({"step": choice})},
            {"when": {"user": "^报告 "}, "say": "写：{user}"},
            {"when": {"user": "错误信息"}, "say": "说明：{user}"},
        ]
        (tmp_path / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")
        write_flow(tmp_path, text, url)
        (tmp_path / "rightseat.toml").write_text(
            '[models.m]\nspec = "scripted:turns.json"\n[databases.hosts]\nurl = "sqlite:///hosts.db"\n'
            '[[plugins]]\npath = "plugins"\nallow = ["127.0.0.1"]\n',
            "utf-8",
        )
        return build_runtime(load_config(env={}), env={})

    return make


async def ask(runtime: Runtime, question: str = "看一下") -> str:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        body = {"model": "euler.test", "messages": [{"role": "user", "content": question}]}
        await client.post_json("/v1/chat/completions", body)
        head = await client.read_head()
        answer = await client.read_json()
        assert head.status == 200, answer
        return str(answer["choices"][0]["message"]["content"])


@pytest.mark.demand("flows.dialect_statement_runs", "flows.dialect_templates")
@pytest.mark.io
async def test_the_statement_of_the_file_is_run_and_no_model_writes_sql(make_runtime: RuntimeFactory) -> None:
    async with serve_json_api(json.dumps(MACHINES).encode()) as api:
        text = await ask(make_runtime(FLOW, api.url))
    assert '# 测试报告\n机器ID： m-1\n名称：["db-02"]' in text
    assert "{%" not in text
    assert "解析" not in text


@pytest.mark.demand("flows.dialect_propose_asks", "flows.dialect_templates")
@pytest.mark.io
async def test_propose_is_the_question_of_the_choice_and_step_names_have_output(make_runtime: RuntimeFactory) -> None:
    """The scripted model decides only where the prompt has the proposition."""
    async with serve_json_api(json.dumps(MACHINES).encode()) as api:
        text = await ask(make_runtime(FLOW, api.url, "get_report"))
    assert text.startswith("# 测试报告\n机器ID： m-1\n解析：写：报告 m-1\n测试数据：load 7\n有机器"), text
    assert "没有机器" not in text


@pytest.mark.demand("flows.dialect_templates")
@pytest.mark.io
async def test_last_is_the_error_in_on_error(make_runtime: RuntimeFactory) -> None:
    async with serve_json_api(b'{"result": {}}') as api:
        flow = FLOW.replace("call_type: api\n", "call_type: extract\n", 1)
        flow = flow.replace("{endpoint: GET /hosts, values: {}}", "{keys: [a.b]}", 1)
        text = await ask(make_runtime(flow, api.url))
    assert text.startswith("说明：错误信息：\nThere is no 'a.b'"), text


@pytest.mark.demand("flows.dialect_refused_aloud")
@pytest.mark.parametrize(
    ("step", "what"),
    [
        ({"call_type": "reformat", "params": {"data": "{ id: storage[-1].id }"}}, "jsonnet"),
        ({"call_type": "reformat", "params": {}}, "neither `text` nor `data`"),
        ({"call_type": "reformat", "params": {"text": 3}}, "not a text"),
        ({"call_type": "llm", "params": {"user_prompt": "{% for h in start %}{{ h }}{% endfor %}"}}, "for h in start"),
        ({"call_type": "llm", "params": {"user_prompt": "{% if data %} open"}}, "is not closed"),
        ({"call_type": "llm", "params": {"user_prompt": "closed {% endif %}"}}, "{% endif %}"),
        ({"call_type": "llm", "params": {"user_prompt": "{% if a == 3 %}x{% endif %}"}}, "{% if a == 3 %}"),
        ({"call_type": "llm", "params": {"user_prompt": "{{ data | tojson }}"}}, "{{ data | tojson }}"),
        ({"call_type": "llm", "params": {"user_prompt": "{{ last.output.upper() }}"}}, "{{ last.output.upper() }}"),
        ({"call_type": "ask", "params": {"question": "{% set a = 1 %}?"}}, "{% set a = 1 %}"),
        ({"call_type": "sql", "params": {"statement": "select {{ question }}"}}, "placeholder"),
        ({"call_type": "sql", "params": {"statement": " "}}, "empty"),
        ({"call_type": "sql", "params": {"statement": "select 1", "sql": "select 2"}}, "both 'statement' and 'sql'"),
        ({"call_type": "choice", "params": {"propose": "?", "instruction": "?", "choices": []}}, "both 'propose' and"),
        ({"call_type": "sql", "params": {"query": "select 1"}}, "no 'query'"),
        ({"call_type": "cmd", "params": {"exec_name": "ls"}}, "no call_type 'cmd'"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_at_load(tmp_path: Path, step: dict[str, Any], what: str) -> None:
    plugin = read_flow(tmp_path, write_steps(step))
    assert [flow.name for flow in plugin.workflows] == []
    errors = list_problems(plugin, "error")
    assert any(what in problem.what for problem in errors), errors
    assert all(problem.fix for problem in errors)


@pytest.mark.demand("flows.dialect_templates")
@pytest.mark.io
async def test_data_of_the_last_step_is_shown_as_a_table(make_runtime: RuntimeFactory) -> None:
    end = {"call_type": "reformat", "params": {"text": "Done.", "data": '{"id": "{start.result.machines[0].id}"}'}}
    start = {"call_type": "api", "params": {"endpoint": "GET /hosts", "values": {}}}
    async with serve_json_api(json.dumps(MACHINES).encode()) as api:
        text = await ask(make_runtime(write_steps(start, end), api.url))
    assert "| id |\n| --- |\n| m-1 |" in text
    assert text.endswith("Done.")


@pytest.mark.demand("flows.dialect_refused_aloud")
def test_the_arguments_of_a_tool_are_its_own(tmp_path: Path) -> None:
    step = {"call_type": "fill", "params": {"template": "{% for a in b %}{{ a | f }}"}}
    home = write_flow(tmp_path, write_steps(step))
    (home / "lib").mkdir()
    (home / "lib" / "__init__.py").write_text(LIB, "utf-8")
    plugin = read_plugin(home)
    assert [script.name for script in plugin.scripts] == ["fill"], plugin.problems
    assert [flow.name for flow in plugin.workflows] == ["test"], plugin.problems


@pytest.mark.demand("flows.dialect_refused_aloud")
def test_text_with_braces_that_is_no_template_stays_text(tmp_path: Path) -> None:
    prompt = 'JSON: {"a": {"b": 1}}, 50 {% of it, {{question}}, {{ item.name }} and {anything}'
    loop = {"call_type": "loop", "params": {"over": "{data}", "steps": [{"call_type": "llm", "params": {
        "user_prompt": prompt}}]}}  # fmt: skip
    plugin = read_flow(tmp_path, write_steps(loop))
    assert [flow.name for flow in plugin.workflows] == ["test"]
    assert plugin.problems == ()


@pytest.mark.demand("flows.unknown_keys_told")
@pytest.mark.parametrize(
    ("step", "key"),
    [
        ({"call_type": "ask", "params": {"question": "?", "option": ["a"]}}, "option"),
        ({"call_type": "none", "params": {"text": "bye"}}, "text"),
        ({"call_type": "flow", "params": {"flow": "other", "ask": "x"}}, "ask"),
        ({"call_type": "loop", "params": {"steps": [{"call_type": "none"}], "limit": 3}}, "limit"),
        ({"call_type": "parallel", "params": {"branches": {"a": {"call_type": "none"}}, "most": 2}}, "most"),
        ({"call_type": "loop", "params": {"steps": [{"call_type": "none", "retries": 3}]}}, "retries"),
        ({"call_type": "parallel", "params": {"branches": {"a": {"call_type": "none", "retries": 3}}}}, "retries"),
        ({"call_type": "loop", "params": {"steps": [{"call_type": "none", "on_error": {"call_type": "none",
            "retries": 1}}]}}, "retries"),
        ({"call_type": "choice", "params": {"choices": [{"step": "end", "decription": "x"}]}}, "decription"),
        ({"call_type": "reformat", "params": {"text": "x", "format": "md"}}, "format"),
        ({"call_type": "none", "timeouts": 3}, "timeouts"),
        ({"call_type": "llm", "params": {"user_prompt": "{{ extras.time }}"}}, "extras.time"),
        ({"call_type": "llm", "params": {"user_prompt": "{% if data %}{% elif extras %}x{% endif %}"}}, "if extras"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_never_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: dict[str, Any], key: str
) -> None:
    (write_flow(tmp_path, write_steps(step)) / "flows" / "other.yaml").write_text(
        "name: other\ndescription: d\nsteps: [{name: start, call_type: none}]\n", "utf-8"
    )
    plugin = read_plugin(tmp_path / "plugins" / "euler")
    [problem] = list_problems(plugin, "warning")
    assert key in f"{problem.key} {problem.what}"
    assert problem.file == "flows/test.yaml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightseat.toml").write_text('[models.m]\nspec = "scripted:demo"\n[[plugins]]\npath = "plugins"\n')
    build_runtime(load_config(env={}), env={})
    assert any(key in record.getMessage() for record in caplog.records), "the server says it when it loads"


@pytest.mark.demand("flows.unknown_keys_told")
def test_an_unknown_key_of_next_flow_is_told(tmp_path: Path) -> None:
    plugin = read_flow(tmp_path, write_steps({"call_type": "none"}, next_flow=[{"id": "test", "questoin": "?"}]))
    [problem] = list_problems(plugin, "warning")
    assert (problem.key, problem.fix) == ("next_flow[0].questoin", "Did you mean 'question'?")


def test_a_step_may_be_called_last(tmp_path: Path) -> None:
    """Names of steps go before the dialect's names."""
    flow = write_steps({"call_type": "none"}, {"call_type": "llm", "params": {"user_prompt": "{storage.a} {last.b}"}})
    renamed = flow.replace('"s1"', '"last"')
    assert read_flow(tmp_path, renamed).problems == ()
