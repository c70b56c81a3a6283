// What a chart draws, as an ECharts option.

/** The option of a chart's content: its own, or one made of its rows and of the columns that it names. */
export function makeOption(content) {
  const given = content?.chart_params ?? content?.chart;
  const rows = listRows(content ?? {});
  const made = given && rows ? makeRowOption(rows, given) : null;
  return made ?? content?.option ?? content;
}

function listRows({ columns, data, rows = data }) {
  if (!Array.isArray(rows)) return null;
  const names = (columns ?? []).map((one) => one?.name ?? one);
  return rows.map((row) =>
    Array.isArray(row) ? Object.fromEntries(names.map((name, at) => [name, row[at]])) : row,
  );
}

function makeRowOption(rows, given) {
  const kind = given.chartType ?? given.type;
  const x = given.xKey ?? given.calloutLabelKey ?? given.x;
  const y = [given.yKey ?? given.angleKey ?? given.y ?? []].flat();
  if (!kind || !x || !y.length) return null;
  const place = (row) => String(row?.[x] ?? "");
  if (kind === "pie" || kind === "donut") {
    const data = rows.map((row) => ({ name: place(row), value: row?.[y[0]] }));
    return {
      tooltip: {},
      series: [{ type: "pie", name: y[0], radius: kind === "donut" ? ["45%", "70%"] : "70%", data }],
    };
  }
  const axes = { tooltip: {}, legend: {}, yAxis: { type: "value" } };
  if (kind === "scatter") {
    const series = y.map((name) => ({ type: kind, name, data: rows.map((row) => [row?.[x], row?.[name]]) }));
    return { ...axes, xAxis: { type: "value", name: x }, series };
  }
  const series = y.map((name) => ({ type: kind, name, data: rows.map((row) => row?.[name] ?? null) }));
  return { ...axes, xAxis: { type: "category", name: x, data: rows.map(place) }, series };
}
