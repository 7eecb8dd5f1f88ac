"""What the OpenRPC document says, in words; for the page of the documentation and the manual page."""
import json


def form(schema):
    """The form of a value in a few words, with values in backticks."""
    if schema is True or not schema.keys() - {"description"}:
        return "any"
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "allOf" in schema:
        return form(schema["allOf"][0])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(form(each) for each in schema[word]))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema["type"] == "array":
        return f"array of {form(schema['items'])}"
    if schema.get("format") == "date-time":
        return "time"
    return schema["type"]


def properties(schema):
    """The members of an object: name, schema, and whether it is always there; those first."""
    required = schema.get("required", [])
    found = [(name, each, name in required) for name, each in schema["properties"].items()]
    return sorted(found, key=lambda one: (not one[2], one[0]))


def errors(document):
    """The errors, those of JSON-RPC first."""
    found = document["components"]["errors"].values()
    return sorted(found, key=lambda error: (error["code"] > 0, abs(error["code"])))


def inputs(document, kind):
    """The forms of the input that answers a kind of step; none if it takes no input."""
    for each in document["components"]["schemas"]["StepInput"]["oneOf"]:
        if each["properties"]["type"]["enum"] == [kind]:
            yield each


def steps(document):
    """Each kind of step with its schema."""
    for step in document["components"]["schemas"]["Step"]["oneOf"]:
        yield step["properties"]["type"]["enum"][0], step
