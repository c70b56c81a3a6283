"""Charts of tables.

table   any JSON data as a table of typed columns
chart   choice of kind and axes, aggregation, and the ECharts option
svg     the same chart as an SVG file, for clients that draw no charts
"""
