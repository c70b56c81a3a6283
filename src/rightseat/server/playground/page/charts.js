// Charts, drawn by ECharts.

import { h } from "./dom.js";
import { fetchLibrary } from "./libraries.js";

/** A place with the chart in it; rejects where ECharts is not installed. It is large: it is loaded when the
 * first chart comes. */
export async function chart(option, name, sentence = name) {
  const echarts = await fetchLibrary("echarts");
  if (!echarts) throw new Error("ECharts is not installed.");
  const place = h("div", { class: "drawing", role: "img", "aria-label": sentence });
  let drawn = null;
  // Drawn when it has its size, and again with each new one: a part of the page that is hidden has none.
  new ResizeObserver(() => {
    if (!place.clientWidth) return;
    if (drawn) drawn.resize();
    else drawn = fill(echarts, place, framed(safe(option), name));
  }).observe(place);
  return place;
}

function fill(echarts, place, option) {
  const look = getComputedStyle(document.documentElement);
  const colour = (name) => look.getPropertyValue(name).trim();
  const drawn = echarts.init(place, look.colorScheme === "dark" ? "dark" : null, { renderer: "canvas" });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const palette = COLOURS.map(colour);
  const text = { fontFamily: getComputedStyle(place).fontFamily, color: colour("--text-3") };
  drawn.setOption({
    color: palette,
    textStyle: text,
    ...option,
    backgroundColor: "transparent",
    animation: !still,
  });
  return drawn;
}

const COLOURS = ["--accent", "--k-tool", "--k-step", "--k-model", "--warn", "--ok", "--text-3"];

/** As it fits into its card, which has the title already, and where a name beside an axis would be cut. */
function framed(option, name) {
  const { title, xAxis, series, ...rest } = option;
  const named = (axis) => (axis?.name ? { nameLocation: "middle", nameGap: 30, ...axis } : axis);
  const own = !title || [title].flat()[0]?.text === name ? {} : { title };
  const one = [series ?? []].flat();
  const round = (bar) => ({ itemStyle: { borderRadius: [4, 4, 0, 0] }, barMaxWidth: 56, ...bar });
  return {
    grid: { left: 12, right: 16, top: one.length > 1 ? 40 : 20, bottom: 34, containLabel: true },
    ...rest,
    ...own,
    ...(one.length < 2 && !pie(one[0]) ? { legend: { show: false } } : {}),
    series: one.map((part) => (part?.type === "bar" && !part.stack ? round(part) : part)),
    ...(xAxis ? { xAxis: Array.isArray(xAxis) ? xAxis.map(named) : named(xAxis) } : {}),
  };
}

const pie = (series) => series?.type === "pie";

const BANNED = new Set([
  "formatter",
  "link",
  "sublink",
  "target",
  "extraCssText",
  "renderItem",
  "toolbox",
  "graphic",
  "optionToContent",
  "contentToOption",
  "__proto__",
]);

/** A chart's description without what could run or load something: no HTML, no pictures from elsewhere. */
export function safe(option) {
  return clean(option, "") ?? {};
}

function clean(one, name) {
  if (Array.isArray(one)) return one.map((inner) => clean(inner, name));
  if (one && typeof one === "object") {
    const kept = Object.entries(one).filter(([key]) => !BANNED.has(key));
    const made = Object.fromEntries(kept.map(([key, inner]) => [key, clean(inner, key)]));
    // Drawn as text in the picture: in HTML a name could be a tag.
    return name === "tooltip" ? { ...made, renderMode: "richText" } : made;
  }
  const loads = typeof one === "string" && (name === "image" || /^\s*image:\/\//i.test(one));
  return loads ? "" : one;
}
