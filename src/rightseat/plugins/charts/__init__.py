"""Charts of tables.

table   any JSON data as a table of typed columns
chart   choice of kind and axes, aggregation, the ECharts option, and the numbers as rows and as CSV
"""
