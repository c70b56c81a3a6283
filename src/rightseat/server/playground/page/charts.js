// Charts, drawn by ECharts.

import { h } from "./dom.js";
import { BASE } from "./server.js";

let library;

/** A place with the chart in it; rejects where ECharts is not installed. It is large: it is loaded when the
 * first chart comes. */
export async function chart(option, name) {
  library ??= import(`${BASE}/playground/vendor/echarts.js`);
  const echarts = await library;
  const place = h("div", { class: "drawing", role: "img", "aria-label": name });
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
  const dark = document.documentElement.dataset.theme === "dark";
  const drawn = echarts.init(place, dark ? "dark" : null, { renderer: "canvas" });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  drawn.setOption({ ...option, backgroundColor: "transparent", animation: !still });
  return drawn;
}

/** As it fits into its card, which has the title already, and where a name beside an axis would be cut. */
function framed(option, name) {
  const { title, xAxis, ...rest } = option;
  const named = (axis) => (axis?.name ? { nameLocation: "middle", nameGap: 30, ...axis } : axis);
  const own = [title].flat()[0]?.text === name ? {} : { title };
  return {
    ...rest,
    ...own,
    ...(xAxis ? { xAxis: Array.isArray(xAxis) ? xAxis.map(named) : named(xAxis) } : {}),
  };
}

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
