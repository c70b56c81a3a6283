// What a chart shows, as a table: for whoever cannot see it, and where it cannot be drawn.

/** {columns, rows} of an ECharts option; null where it has none that a table could hold. */
export function figures({ xAxis, yAxis, series, dataset } = {}) {
  const drawn = [series ?? []].flat().filter((one) => Array.isArray(one?.data));
  const [across, up] = [xAxis, yAxis].map((axis) => [axis].flat()[0] ?? {});
  if (!drawn.length) return sourced(dataset?.source);
  const [first] = drawn;
  if (first.type === "pie") return named(first);
  if (first.type === "heatmap") return crossed(first, across, up);
  if (across.data) return listed(drawn, across, across.data);
  if (up.data) return listed(drawn, up, up.data);
  const rows = drawn.flatMap((one) => one.data.map((point) => [one.name ?? "", ...[valueOf(point)].flat()]));
  return { columns: ["", across.name || "x", up.name || "y"], rows };
}

const valueOf = (point) => (point && typeof point === "object" && "value" in point ? point.value : point);

function sourced(source) {
  if (!Array.isArray(source) || !Array.isArray(source[0])) return null;
  const [columns, ...rows] = source;
  return { columns: columns.map(String), rows };
}

function named({ name, data }) {
  return { columns: ["", name ?? ""], rows: data.map((one) => [one?.name ?? "", valueOf(one)]) };
}

function crossed({ name, data }, across, up) {
  const rows = data.map((one) => {
    const [x, y, value] = valueOf(one);
    return [across.data?.[x] ?? x, up.data?.[y] ?? y, value];
  });
  return { columns: [across.name ?? "x", up.name ?? "y", name ?? ""], rows };
}

function listed(drawn, axis, names) {
  const columns = [axis.name ?? "", ...drawn.map((one) => one.name ?? "")];
  return { columns, rows: names.map((name, at) => [name, ...drawn.map((one) => valueOf(one.data[at]))]) };
}
