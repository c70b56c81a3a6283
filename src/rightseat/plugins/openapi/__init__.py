"""Reader of OpenAPI specs (OpenAPI 3.0, 3.1, Swagger 2.0), tolerant of common mistakes.

`read` turns a spec into Operations and a list of problems. `spec` and `node` hold the spec, its `$ref`s, servers and
problems. `schemas`, `keywords` and `patterns` convert schemas to JSON Schema 2020-12, `overlap` compares the branches
of a oneOf, `simplify` inlines and shrinks schemas. `arguments`, `bodies` and `describe` read the parts of an operation.
`lint` reports unknown keys and poor descriptions; fields.toml lists the known keys.
"""
