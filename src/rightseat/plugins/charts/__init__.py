"""Tables as charts: ECharts options, and SVG where nothing draws those."""
