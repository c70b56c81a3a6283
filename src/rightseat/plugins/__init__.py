"""Plugins: folders with plugin.json, openapi.yaml, lib/ and flows/ that become tools.

plugin         values that a folder is read into (Plugin, Operation, Flow, Problem) and tool names
load           reads plugin folders and writes the skeleton of a new one
manifest, plugin_file, yaml_reader    plugin.json and YAML or JSON files, with line numbers
catalog, search, selection    loaded plugins, ranking, and the tools shown to a turn
plugin_choice      lets a model choose among plugins
web_search     the built-in tools web_search and wolfram_alpha
value_patterns     regex patterns on numbers, lists and objects
openapi/, http/    operations of an API document, and calling them
python/, sql/, flows/, charts/    lib/ tools, databases, workflows, charts
"""
