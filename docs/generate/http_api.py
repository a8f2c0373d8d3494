"""The page of the HTTP API, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import MagicMock

from mccpo.report.docs.docstrings import table
from mccpo.serve.api import create_app

Schema = Mapping[str, Any]
_GROUPS = {
    "learners": "Learners and sessions",
    "decisions": "Decisions",
    "releases": "Releases",
    "xapi": "xAPI",
    "operation": "Operation",
}
_INTRO = """# HTTP API

The requests that `mccpo serve` answers, from its own schema. A running service has the schema at `/openapi.json`.
[The decision service](../serve.md) says how requests behave together: sessions, idempotency, releases, the record.

- Every request needs a key, sent as `Authorization: Bearer KEY`, except where it says *no key*.
- A refusal is `application/problem+json` ([ProblemForm](#problemform)), with a status from 400 to 499, or 503 where
  nothing can be decided or kept now.
- A write may bear an `Idempotency-Key` of up to 200 printable characters.
"""


def openapi_document() -> dict[str, Any]:
    """What `/openapi.json` answers. The application is built and never started, so its service may be a stand-in."""
    return create_app(MagicMock(), MagicMock()).openapi()


def page() -> str:
    """Every request with its parameters, body and answer, then the forms."""
    document = openapi_document()
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            group = next(iter(operation.get("tags", [])), "operation")
            groups.setdefault(group, []).append(_request(verb.upper(), path, operation))
    parts = [_INTRO]
    for group, requests in groups.items():
        parts.append(f"## {_GROUPS.get(group, group.capitalize())}\n\n" + "\n\n".join(requests))
    forms = [_form(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    parts.append("## Forms\n\nThe JSON objects that requests send and answers hold.\n\n" + "\n\n".join(forms))
    return "\n\n".join(parts) + "\n"


def _request(verb: str, path: str, operation: Schema) -> str:
    parts = [f"### `{verb} {path}`", operation.get("description", "")]
    if operation.get("security") == []:
        parts.append("*No key.*")
    if rows := [_parameter(each) for each in operation.get("parameters", []) if each["name"] != "Idempotency-Key"]:
        parts.append(table(["parameter", "in", "type", "default"], rows))
    body = [_type(content["schema"]) for content in operation.get("requestBody", {}).get("content", {}).values()]
    answers = [
        f"{status}: {' or '.join(dict.fromkeys(_contents(answer)))}"
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    lines = [f"- **Sends** {', '.join(body)}"] if body else []
    lines.append(f"- **Answers** {'; '.join(answers)}")
    return "\n\n".join([*filter(None, parts), "\n".join(lines)])


def _contents(answer: Schema) -> Iterator[str]:
    for media, content in answer.get("content", {}).items():
        yield _type(content["schema"]) if content.get("schema") else f"`{media}`"


def _parameter(given: Schema) -> list[str]:
    schema = given["schema"]
    required = "required" if given.get("required") else f"`{schema['default']}`" if schema.get("default") else "–"
    return [f"`{given['name']}`", given["in"], _type(schema), required]


def _form(name: str, schema: Schema) -> str:
    parts = [f"### {name}", schema.get("description", "")]
    required = schema.get("required", [])
    rows = [
        [f"`{field}`", _type(each), "yes" if field in required else "", _limits(each)]
        for field, each in schema.get("properties", {}).items()
    ]
    if rows:
        parts.append(table(["field", "type", "always there", "limits"], rows))
    return "\n\n".join(filter(None, parts))


def _limits(schema: Schema) -> str:
    """The bounds of a value, in words. Patterns are long: the service names what a text may not hold."""
    among = [schema, *schema.get("anyOf", [])]
    words = {"maxLength": "at most {} characters", "minimum": "at least {}", "maximum": "at most {}"}
    said = [text.format(each[key]) for each in among for key, text in words.items() if key in each]
    return ", ".join(said)


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
