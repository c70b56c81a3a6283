// What the view of the front ends says. The server's own sentences about its set-up are in English: here is the rest.

import { learn } from "./words.js";

learn("en", {
  clients: "Connect a front end",
  searchClients: "Search front ends",
  group_apps: "Chat applications",
  group_product: "In your product",
  group_agents: "Agents and editors",
  connectTo: "Connect {name}",
  withKey: "With a key",
  withoutKey: "Without",
  keyMode: "Whether the server needs a key",
  keyShell: "Set the key first: export RIGHTSEAT_KEY=…",
  keyFilled: "Copy puts your key in the place of $RIGHTSEAT_KEY.",
  keyHere: "Put your key in the place of $RIGHTSEAT_KEY.",
  checkIt: "Check it",
  checkHint: "The requests that this front end sends first, sent now:",
  checkClients: "Test",
  calling: "Calling every endpoint …",
  endpointsAnswer: "{good} of {all} endpoints answer",
  health: "What works here",
  fix: "Fix",
});
learn("zh", {
  clients: "连接前端",
  searchClients: "搜索前端",
  group_apps: "聊天应用",
  group_product: "在你的产品中",
  group_agents: "智能体和编辑器",
  connectTo: "连接 {name}",
  withKey: "有密钥",
  withoutKey: "无密钥",
  keyMode: "服务器是否需要密钥",
  keyShell: "请先设置密钥：export RIGHTSEAT_KEY=…",
  keyFilled: "复制时会用你的密钥替换 $RIGHTSEAT_KEY。",
  keyHere: "请用你的密钥替换 $RIGHTSEAT_KEY。",
  checkIt: "检查",
  checkHint: "立即发送该前端最先发送的请求：",
  checkClients: "测试",
  calling: "正在调用每个接口…",
  endpointsAnswer: "{all} 个接口中有 {good} 个正常",
  health: "运行状况",
  fix: "处理方法",
});

const CHINESE = [
  [/^ready$/, "就绪"],
  [/^assistants$/, "助手"],
  [/^charts$/, "图表"],
  [/^extra (.+)$/, "扩展 $1"],
  [/^plugin (.+)$/, "插件 $1"],
  [/^agent (.+)$/, "智能体 $1"],
  [/^new questions are answered$/, "可以回答新问题"],
  [/^a model is not there yet$/, "模型尚未就绪"],
  [/^look at the server's log$/, "查看服务器日志"],
  [/^ECharts is here$/, "已有 ECharts"],
  [/^ECharts is not here: charts are shown as tables$/, "没有 ECharts：图表显示为表格"],
  [/^(\d+) tools$/, "$1 个工具"],
  [/^not installed, not needed here: (.+)$/, "未安装，此处不需要：$1"],
  [/^answers in (.+)$/, "$1 内回答"],
];

/** A sentence of the set-up report in the language of the page. */
export function sentence(text, language) {
  if (language !== "zh") return text;
  const [pattern, chinese] = CHINESE.find(([known]) => known.test(text)) ?? [];
  return pattern ? text.replace(pattern, chinese) : text;
}
