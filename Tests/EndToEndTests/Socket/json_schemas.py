"""The document of `rpc.discover`, and the part of JSON Schema (draft 7) that it uses.

A client in another language can do the same with a JSON Schema library. This one needs none.
"""

import re

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Schemas:
    """The schemas of a document."""

    def __init__(self, document):
        self.document = document

    def faults(self, value, schema, path):
        """What is wrong with a value, as sentences."""
        if schema is True:
            return []
        for word in set(schema) - {"description", "required"}:
            yield from getattr(self, "check_" + word.strip("$"))(value, schema, path)

    def check_ref(self, value, schema, path):
        name = schema["$ref"].removeprefix("#/components/schemas/")
        return self.faults(value, self.document["components"]["schemas"][name], path)

    def check_allOf(self, value, schema, path):
        for form in schema["allOf"]:
            yield from self.faults(value, form, path)

    def fits(self, value, forms, path):
        return sum(not list(self.faults(value, form, path)) for form in forms)

    def check_anyOf(self, value, schema, path):
        if not self.fits(value, schema["anyOf"], path):
            yield f"{path} has none of the forms: {value}"

    def check_oneOf(self, value, schema, path):
        if (count := self.fits(value, schema["oneOf"], path)) != 1:
            yield f"{path} has {count} of the forms: {value}"

    def check_type(self, value, schema, path):
        name = schema["type"]
        if name in ("integer", "number"):
            fits = isinstance(value, int if name == "integer" else (int, float))
            fits = fits and not isinstance(value, bool)
        else:
            fits = isinstance(value, TYPES[name])
        if not fits:
            yield f"{path} is no {name}: {value}"

    def check_enum(self, value, schema, path):
        if value not in schema["enum"]:
            yield f"{path} is none of {schema['enum']}: {value}"

    def check_const(self, value, schema, path):
        if value is not schema["const"]:
            yield f"{path} is not {schema['const']}: {value}"

    def check_format(self, value, schema, path):
        assert schema["format"] == "date-time", schema
        if isinstance(value, str) and not TIME.fullmatch(value):
            yield f"{path} is no time: {value}"

    def check_items(self, value, schema, path):
        for number, element in enumerate(value if isinstance(value, list) else []):
            yield from self.faults(element, schema["items"], f"{path}.{number}")

    def check_properties(self, value, schema, path):
        if not isinstance(value, dict):
            return
        for name in schema.get("required", []):
            if name not in value:
                yield f"{path}.{name} is missing"
        for name, form in schema["properties"].items():
            if name in value:
                yield from self.faults(value[name], form, f"{path}.{name}")

    def check_additionalProperties(self, value, schema, path):
        known = schema.get("properties", {})
        for name in (value if isinstance(value, dict) else {}).keys() - known.keys():
            if schema["additionalProperties"] is False:
                yield f"{path}.{name} is unknown"
            else:
                more = schema["additionalProperties"]
                yield from self.faults(value[name], more, f"{path}.{name}")

    def check(self, value, schema, path):
        faults = list(self.faults(value, schema, path))
        assert not faults, faults
