// What the list of models to fetch says.

import { learn } from "./words.js";

learn("en", {
  betterModels: "Get a better local model",
  freeDisk: "{size} free on the disk",
  noEngine: "A model of this machine cannot run yet: {text}",
  fitsWell: "fits well",
  fitsSlow: "slow here",
  fitsNot: "too large for the memory",
  getModel: "Get",
  goOn: "Go on from {size} MB",
  useFetched: "Test and use",
  getAddress: "Or any other GGUF file",
  getHint:
    "A file of the model hub, or any https:// address that ends with .gguf. It is kept on the server's disk.",
  fetching: "Fetching {name}",
  soFar: "{done} of {total} MB · {percent} %",
  soFarOnly: "{done} MB",
  checkingFile: "Checking the file …",
  fetchDone: "{name} is here.",
  fetchStopped: "{name}: stopped. What has come is kept.",
});
learn("zh", {
  betterModels: "获取更好的本地模型",
  freeDisk: "磁盘剩余 {size}",
  noEngine: "本机还不能运行模型：{text}",
  fitsWell: "适合本机",
  fitsSlow: "在本机较慢",
  fitsNot: "内存不足",
  getModel: "获取",
  goOn: "从 {size} MB 处继续",
  useFetched: "测试并使用",
  getAddress: "或其他任何 GGUF 文件",
  getHint: "模型中心的文件，或任何以 .gguf 结尾的 https:// 地址。文件保存在服务器的磁盘上。",
  fetching: "正在获取 {name}",
  soFar: "{done} / {total} MB · {percent}%",
  soFarOnly: "{done} MB",
  checkingFile: "正在检查文件…",
  fetchDone: "{name} 已就绪。",
  fetchStopped: "{name}：已停止。已下载的部分会保留。",
});
