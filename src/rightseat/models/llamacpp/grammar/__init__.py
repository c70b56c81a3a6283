"""Compile JSON Schema to GBNF, the grammars of llama.cpp. No I/O, bounded work.

    rules = GrammarRules()
    name = rules.add_schema(schema)
    rules.add("root", f'"<tool>" {name} "</tool>"')
    rules.to_gbnf()

JSON is compact (at most one space after a comma or colon), properties keep the schema's order, and
GrammarLimits bounds what the schema leaves unbounded. Unnamed properties are allowed only if
`additionalProperties` allows them, or if the schema names no property.

`schema_pointers` resolves a schema, `schema_analysis` finds types and enumerated values, `strings`, `regex`,
`numbers` and `containers` build expressions (`expr`, `charset`), `build` joins them into `rules`.
"""
