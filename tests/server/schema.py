"""Checks JSON against the server's OpenAPI document; docs/openapi.json is a record of that document."""
import json
import pathlib

RECORD = pathlib.Path(__file__).resolve().parents[2] / "docs/openapi.json"
WIDTH = 120

TYPES = {"string": str, "boolean": bool, "array": list, "object": dict, "number": (int, float), "integer": int}


def check(value, schema, document, where):
    """Checks a value against a schema; supports as much of JSON Schema as the document uses."""
    if value is None and schema.get("nullable"):
        return
    if "$ref" in schema:
        named = document
        for part in schema["$ref"].split("/")[1:]:
            named = named[part]
        return check(value, named, document, where)
    for part in schema.get("allOf", ()):
        check(value, part, document, where)
    kind = schema.get("type")
    if kind:
        assert isinstance(value, TYPES[kind]) and not (kind in ("integer", "number") and isinstance(value, bool)), \
            f"{where}: {value!r:.80} is no {kind}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where}: {value!r:.80}"
    if kind == "object":
        for name in schema.get("required", ()):
            assert name in value, f"{where}: {name} is missing in {sorted(value)}"
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name in value:
            if name in properties:
                check(value[name], properties[name], document, f"{where}.{name}")
            elif others is not None:
                check(value[name], others, document, f"{where}.{name}")
            else:
                assert not properties, f"{where}: {name} is not in the document"
    if kind == "array":
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), document, f"{where}[{i}]")


def written(value, indent=0, before=0):
    """Returns JSON in which each value that fits into a line is written on one line;
    `before` columns are taken already.
    """
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + before + len(short) < WIDTH:
        return short
    rows = []
    for key in value if isinstance(value, dict) else range(len(value)):
        name = json.dumps(key) + ": " if isinstance(value, dict) else ""
        rows.append(" " * (indent + 2) + name + written(value[key], indent + 2, len(name)))
    left, right = "{}" if isinstance(value, dict) else "[]"
    return left + "\n" + ",\n".join(rows) + "\n" + " " * indent + right


def recorded(document):
    """Returns the text of the record: the document without the version, which changes with every release."""
    return written({**document, "info": {**document["info"], "version": "0"}}) + "\n"
