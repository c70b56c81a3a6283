"""A plugin of thirty flows for the playground's tests: long names, Chinese titles, loops, choices of four branches."""

import json
from pathlib import Path
from typing import Any

PLUGIN_NAME = "CVE巡检与修复 patrol and repair of hosts"
KINDS = ("cve fix", "repo set", "hotpatch remove", "cve rollback")
LONG_STEPS = (
    "query_cve_fix_task_information_in_detail",
    "query_repo_set_task_information_in_full",
    "query_hotpatch_remove_task_info",
    "query_rollback_task_info",
)
COUNT = 30
BRANCHES, LOOP, CHINESE = "branches", "loop", "chinese"


def flow_name(number: int, kind: str) -> str:
    """Return a name of forty letters that says what the flow is."""
    return f"{number:02d}_{kind}_".ljust(40, "abcdefghijklmnopqrstuvwxyz_query_the_information_of_tasks"[number % 26])


def write_flows_plugin(folder: Path) -> None:
    plugin = folder / "plugins" / "patrol"
    (plugin / "flows").mkdir(parents=True)
    about = {"id": "patrol", "name": PLUGIN_NAME, "description": "Looks after hosts.", "predefined_question": ""}
    (plugin / "plugin.json").write_text(json.dumps(about), encoding="utf-8")
    for number, flow in enumerate(list_flows()):
        (plugin / "flows" / f"flow_{number:02d}.yaml").write_text(
            json.dumps(flow, ensure_ascii=False), encoding="utf-8"
        )


def list_flows() -> list[dict[str, Any]]:
    builders = (build_branches, build_loop, build_chinese)
    return [builders[number % len(builders)](number) for number in range(COUNT)]


def build_branches(number: int) -> dict[str, Any]:
    """Build a choice of four branches, whose labels are longer than their steps."""
    choices = [
        {
            "step": step,
            "description": f"返回值的task_type为'{kind}'时选择此项, the type of the task is '{kind}'",
            "when": {"path": "start.task_type", "equals": kind},
        }
        for step, kind in zip(LONG_STEPS, KINDS, strict=True)
    ]
    branches = [
        {"name": step, "call_type": "reformat", "params": {"data": {"task": kind, "progress": 0.5}}, "next": "answer"}
        for step, kind in zip(LONG_STEPS, KINDS, strict=True)
    ]
    return {
        "name": flow_name(number, BRANCHES),
        "description": "查询任务的完整信息，用户必须指定需要查询的任务 ID。Shows all that is known of a task, of which "
        "the number must be given.",
        "steps": [
            {"name": "start", "call_type": "reformat", "params": {"data": {"task_type": "cve fix"}}, "next": "pick"},
            {
                "name": "pick",
                "call_type": "choice",
                "params": {"instruction": "返回值中 task_type 字段包含哪种任务类型信息？", "choices": choices},
            },
            *branches,
            {"name": "answer", "call_type": "reformat", "params": {"data": {"task": "{data}"}}, "next": "end"},
            {"name": "end", "call_type": "none", "params": {"say": "任务 8f2c 正在运行，已完成 50 %。"}},
        ],
    }


def build_loop(number: int) -> dict[str, Any]:
    """Build a circle: the choice leads back until the step has run, and a step for errors."""
    choices = [
        {"step": "report", "description": "All hosts are patched", "when": {"path": "patch.done", "equals": True}},
        {"step": "patch", "description": "至少还有一台主机没有打补丁 at least one host is left"},
    ]
    return {
        "name": flow_name(number, LOOP),
        "description": "Patches hosts until none is left.",
        "steps": [
            {"name": "start", "call_type": "reformat", "params": {"data": {"hosts": ["web-03"]}}, "next": "check"},
            {"name": "check", "call_type": "choice", "params": {"instruction": "Is one left?", "choices": choices}},
            {"name": "patch", "call_type": "reformat", "params": {"data": {"done": True}}, "next": "verify"},
            {
                "name": "verify",
                "call_type": "reformat",
                "params": {"data": {"seen": "{data}"}},
                "next": "check",
                "on_error": {"call_type": "none", "next": "report"},
            },
            {"name": "report", "call_type": "reformat", "params": {"data": {"patch": "{patch}"}}, "next": "end"},
            {"name": "end", "call_type": "none", "params": {"say": "Patched."}},
        ],
    }


def build_chinese(number: int) -> dict[str, Any]:
    """Build a flow whose steps have Chinese names, with a loop over a list and a question."""
    return {
        "name": f"{number:02d} {CHINESE} 生成诊断报告并通知值班人员",
        "description": "检测主机异常，分析根因，生成诊断报告。",
        "steps": [
            {
                "name": "start",
                "call_type": "ask",
                "params": {"question": "哪台主机？ Which host?", "options": ["web-03", "db-01"]},
                "next": "主机异常检测",
            },
            {
                "name": "主机异常检测",
                "call_type": "loop",
                "params": {
                    "over": ["cpu", "memory", "disk"],
                    "steps": [{"name": "检测", "call_type": "reformat", "params": {"data": {"part": "{item}"}}}],
                },
                "next": "根因分析",
            },
            {"name": "根因分析", "call_type": "reformat", "params": {"data": {"主机": "{start}"}}, "next": "end"},
            {"name": "end", "call_type": "none", "params": {"say": "报告已生成。"}},
        ],
    }
