"""Pages of the Python names: every name that a package offers, with its type, its docstring and its example."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from docs.generate.public import PUBLIC
from docs.generate.rooms import SOURCE, rooms

INNER = ("serve", "bench", "cli")
"""Rooms without a Python API: the service has its HTTP API, and the others are commands."""
_INTRO = """# Python API

`import mccpo` offers what most programs need: [](python/mccpo.md). Each name there has an example that the tests run.

The packages behind it offer more. A page first has the names for users and for authors of extensions, each with an
example that the tests run. Below *For other rooms* are those that mccpo needs inside: read them to understand it, and
do not build on them, since they may move without notice. What a package's `__init__` does not offer is private.
Names in `mccpo`, and the first names of each page, change only with a line in the [changelog](../changelog.md).

```{toctree}
:maxdepth: 1

"""
_LONGEST_DEFAULT = 40


class Name(NamedTuple):
    """A public name: the package that offers it, and what it stands for."""

    package: str
    name: str
    value: Any


def packages() -> list[str]:
    """Every package that offers names to others, in the order in which data flows."""
    found = ["mccpo"]
    for room in rooms():
        if room in INNER:
            continue
        inner = pkgutil.walk_packages([str(SOURCE / room)], f"mccpo.{room}.")
        found += [f"mccpo.{room}", *(module.name for module in inner if module.ispkg)]
    return [name for name in found if getattr(import_module(name), "__all__", None)]


def public_names() -> list[Name]:
    """All names that the packages offer."""
    return [Name(package, name, _value(package, name)) for package in packages() for name in _offered(package)]


def is_public(package: str, name: str) -> bool:
    """Whether a name is for users and authors of extensions, and not only for other rooms."""
    return package == "mccpo" or name in PUBLIC.get(package, ())


def pages() -> dict[str, str]:
    """The page of each package by its path, and the one that lists them."""
    home: dict[int, Name] = {}
    texts = {}
    for package in packages():
        names = [each for each in public_names() if each.package == package]
        entries = {each.name: _entry(each, home.setdefault(id(each.value), each)) for each in names}
        about = _markdown(inspect.getdoc(import_module(package)) or "")
        parts = [f"# {package}", about, f"```{{py:module}} {package}\n```"]
        parts += [entry for name, entry in entries.items() if is_public(package, name)]
        inner = [entry for name, entry in entries.items() if not is_public(package, name)]
        texts[f"python/{package}.md"] = "\n\n".join([*parts, *(["## For other rooms", *inner] if inner else [])])
    listed = "\n".join(path.removesuffix(".md") for path in texts)
    return {"python.md": f"{_INTRO}{listed}\n```\n", **{path: f"{text}\n" for path, text in texts.items()}}


def _offered(package: str) -> list[str]:
    return sorted(import_module(package).__all__, key=lambda name: (name.lower(), name))


def _value(package: str, name: str) -> Any:
    try:
        return getattr(import_module(package), name)
    except AttributeError:  # a module of the package that is imported when somebody asks for it
        return import_module(f"{package}.{name}")


def _entry(each: Name, home: Name) -> str:
    """A name with its type and docstring; where another page has it already, a link there."""
    value, full = each.value, f"{each.package}.{each.name}"
    if inspect.ismodule(value):
        return f"`{full}` (a module)\n: {_first(inspect.getdoc(value))}"
    if callable(value) and (home.package, home.name) != (each.package, each.name):
        return f"`{full}`\n: The same as [`{home.package}.{home.name}`](#{home.package}.{home.name})."
    if inspect.isclass(value):
        return _directive("class", each.name + _signature(value), _body(value, _members(value)))
    if inspect.isroutine(value):
        return _directive("function", each.name + _signature(value), _body(value))
    about = _constant(each.package, each.name)
    return _directive("data", each.name, f":type: {_type_of(value)}\n\n{_markdown(about)}")


def _directive(kind: str, title: str, body: str, ticks: int = 6) -> str:
    fence = "`" * ticks
    return f"{fence}{{py:{kind}}} {title}\n{body.rstrip()}\n{fence}"


def _body(value: Any, more: str = "") -> str:
    about = _markdown(inspect.getdoc(value) or "")
    return "\n\n".join(part for part in ("", about, more) if part or part == "")


def _members(kind: type) -> str:
    """The public methods and properties that a class has of its own."""
    parts = []
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(plain, property):
            parts.append(_directive("property", name, "\n" + _markdown(inspect.getdoc(plain) or ""), 5))
        elif inspect.isfunction(plain) and inspect.getdoc(plain):
            option = {classmethod: ":classmethod:\n", staticmethod: ":staticmethod:\n"}.get(type(member), "")
            signature = _signature(plain, skip_first=not isinstance(member, staticmethod))
            about = _markdown(inspect.getdoc(plain) or "")
            parts.append(_directive("method", name + signature, f"{option}\n{about}", 5))
    return "\n\n".join(parts)


def _signature(value: Any, *, skip_first: bool = False) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    given = list(signature.parameters.values())[1 if skip_first else 0 :]
    parts, keyword_only = [], False
    for at, parameter in enumerate(given):
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(other.kind is other.VAR_POSITIONAL for other in given):
                parts.append("*")
        parts.append(_parameter(parameter))
        last = at + 1 == len(given) or given[at + 1].kind is not parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.POSITIONAL_ONLY and last:
            parts.append("/")
    returned = signature.return_annotation
    arrow = "" if returned is signature.empty or inspect.isclass(value) else f" -> {_annotation(returned)}"
    return f"({', '.join(parts)}){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    typed = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    return f"{stars}{parameter.name}{typed}{default}"


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.strip("'\"") if _parses(annotation.strip("'\"")) else "Any"
    text = inspect.formatannotation(annotation)
    return text if _parses(text) else getattr(annotation, "__name__", "Any")


def _default(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_DEFAULT and "\n" not in text and _parses(text) else "..."


def _parses(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _type_of(value: Any) -> str:
    return type(value).__name__


def _first(text: str | None) -> str:
    return (text or "").split("\n\n")[0].replace("\n", " ")


def _markdown(text: str) -> str:
    """A docstring as Markdown: what was typed at the prompt becomes a block of code."""
    return "\n\n".join(_blocks(text))


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n{2,}(?! {4})", text.strip()):
        at = re.search(r"^>>> ", block, re.MULTILINE)
        if at is None:
            yield block
            continue
        if at.start():
            yield block[: at.start()].rstrip()
        yield f"```python\n{block[at.start() :]}\n```"


@cache
def _constant_texts(package: str) -> dict[str, str]:
    """What is said below each assignment in the modules of a package."""
    said = {}
    folder = SOURCE.joinpath(*package.split(".")[1:])
    for path in sorted(folder.rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in pairwise(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    said |= {target.id: text for target in targets if isinstance(target, ast.Name)}
    return said


def _constant(package: str, name: str) -> str:
    return inspect.cleandoc(_constant_texts(package).get(name) or _constant_texts("mccpo").get(name, ""))
