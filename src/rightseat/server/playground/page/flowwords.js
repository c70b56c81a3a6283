// What the flows say, in English and Chinese.

import { learn } from "./words.js";

learn("en", {
  noFlows: "No plugin here has flows. docs/flows.md shows how to write one.",
  allFlows: "All flows",
  findFlow: "Name, plugin, description",
  flowOf: "Flow",
  stepsOf: "steps",
  noLayout:
    "The picture needs dagre, which is not installed here. Run “make assets” to download it. These are the steps:",
  step_done: "done",
  step_running: "running",
  step_failed: "failed",
  step_asking: "waiting for you",
  step_not: "not taken",
  step_cut: "stopped",
  runFlow: "Run",
  runPanel: "Run of the flow",
  runInput: "Input of the run",
  stepIn: "In",
  stepOut: "Out",
  stepData: "Data of the step",
  stepTimes: "times",
  stepNotRun: "This step has not run yet.",
  stepNoData: "No output yet.",
  flowResult: "Result",
  flowSteps: "Steps",
  earlierRuns: "Earlier runs",
  openInChat: "Open in chat",
  flowTokens: "tokens",
  sheetTaller: "Taller or lower",
  state_running: "running",
  state_asking: "waiting for you",
  state_failed: "failed",
  state_stopped: "stopped",
  state_done: "done",
});
learn("zh", {
  noFlows: "这里没有带流程的插件。docs/flows.zh.md 介绍如何编写。",
  allFlows: "全部流程",
  findFlow: "名称、插件、描述",
  flowOf: "流程",
  stepsOf: "个步骤",
  noLayout: "绘图需要 dagre，本机尚未安装。运行 “make assets” 即可获取。步骤如下：",
  step_done: "完成",
  step_running: "运行中",
  step_failed: "失败",
  step_asking: "等待你的操作",
  step_not: "未经过",
  step_cut: "已停止",
  runFlow: "运行",
  runPanel: "流程的运行",
  runInput: "运行的输入",
  stepIn: "输入",
  stepOut: "输出",
  stepData: "步骤的数据",
  stepTimes: "次",
  stepNotRun: "此步骤尚未运行。",
  stepNoData: "还没有输出。",
  flowResult: "结果",
  flowSteps: "步骤",
  earlierRuns: "之前的运行",
  openInChat: "在对话中打开",
  flowTokens: "词元",
  sheetTaller: "调整高度",
  state_running: "运行中",
  state_asking: "等待你的操作",
  state_failed: "失败",
  state_stopped: "已停止",
  state_done: "完成",
});

/** What the server writes into a picture, in Chinese where that is spoken; what a flow's author wrote stays. */
const PICTURE = {
  zh: [
    [/^on error of any step$/, "任一步骤出错时"],
    [/^on error$/, "出错时"],
    [/^else$/, "否则"],
    [/^for each of (?=\S)/, "逐一处理 "],
    [/^at once: /, "并行："],
    [/(^|, )asks first(?=$|, )/, "$1先确认"],
    [/(^|, )retry (\d+)$/, "$1重试 $2 次"],
  ],
};

export function translatePicture(text, code) {
  return (PICTURE[code] ?? []).reduce((told, [pattern, word]) => told.replace(pattern, word), text);
}
