// Draws ECharts options without a browser: reads one JSON line each, and answers with what was drawn.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "package.json"));
const echarts = require("echarts");

const said = [];
for (const level of ["warn", "error", "log", "info"]) console[level] = (...words) => said.push(words.join(" "));

function marks(chart) {
  const found = [];
  chart.getModel().eachSeries((series) => {
    let count = 0;
    chart.getViewOfSeriesModel(series).group.traverse((element) => {
      if (!element.isGroup && element.type !== "text" && !element.ignore) count += 1;
    });
    found.push({ type: series.subType, name: series.name, marks: count, data: series.getData().count() });
  });
  return found;
}

function draw(option) {
  said.length = 0;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 720, height: 420 });
  try {
    chart.setOption({ ...option, animation: false });
    const svg = chart.renderToSVGString();
    return { said: [...said], series: marks(chart), svg };
  } catch (error) {
    return { said: [String(error)], series: [], svg: "" };
  } finally {
    chart.dispose();
  }
}

process.stdout.write(JSON.stringify({ version: echarts.version }) + "\n");
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(draw(JSON.parse(line))) + "\n");
}
