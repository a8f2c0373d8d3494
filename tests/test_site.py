"""The documentation as a site: its tables of contents, links and generated pages, and how hard it is to read."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from docs.generate import architecture, commands, http_api, messages, metrics, python_api
from docs.generate.public import PUBLIC
from docs.generate.rooms import rooms

import mccpo
from mccpo.cli.app import COMMANDS
from mccpo.report.docs.readability import LONG, WIDE, measure, sentences, together
from mccpo.report.vocabulary import every_metric

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = {"reference/commands", "reference/http-api", "reference/messages", "reference/metrics", "reference/python"}
"""Pages that `make docs` generates, and the repository does not keep."""
PICTURES = {DOCS / "architecture.svg", DOCS / "gate.svg"}
WRITTEN = {
    str(path.relative_to(DOCS).with_suffix("")): path
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts and not str(path.relative_to(DOCS)).startswith((*MADE, "reference/python/"))
}
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
ELSEWHERE = {
    "register_environment": "An environment",
    "register_method": "A method",
    "METHODS": "mccpo",
    "__version__": "mccpo",
}
"""Names whose example is a section of CONTRIBUTING.md, which a test follows, or the one of the package."""
FOLLOWED = {
    "OnPolicy penalised price_unit register_method": "CONTRIBUTING.md",
    "Source register_source open_table Text Truth Clock": "CONTRIBUTING.md",
    "GraphFormat RawConcept RawGraph": "CONTRIBUTING.md",
    "compare register_table": "CONTRIBUTING.md",
    "Policy TutorBKT": "docs/tutorials/3-your-own-environment-and-method.md",
    "read_run": "docs/python.md",
}
"""Names of the rooms whose example is a page. Tests run these pages."""
WITHOUT_EXAMPLE = 490
"""How many names that rooms offer to other rooms have no example yet. It may only fall."""

PROGRAM = re.compile(r"^```(?:python|\{code-cell\} ipython3)\n(.*?)^```", re.MULTILINE | re.DOTALL)
IMPORTED = re.compile(r"^(?:>>> )?from (mccpo(?:\.\w+)*) import \(?([\w, ]+)", re.MULTILINE)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def entries() -> list[str]:
    """What the tables of contents of the index name, without their options."""
    lines = [line for tree in TOCTREE.findall(INDEX) for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The places of a page that a link can name: a slug for each heading, as GitHub and MyST make it."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    return frozenset(slug(heading) for heading in HEADING.findall(text))


def slug(heading: str) -> str:
    """What a link calls a heading: in small letters, with bars for spaces."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().replace("`", "")
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [link for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))) if not leads(page, link)]


def leads(page: Path, link: str) -> bool:
    """Whether a link leads to a page that is kept or generated, and to a heading that it has."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if target in PICTURES or (target.is_relative_to(DOCS) and str(target.relative_to(DOCS).with_suffix("")) in MADE):
        return True
    return target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors(target))


def test_every_page_is_in_the_contents_once() -> None:
    named = [entry for entry in entries() if "*" not in entry and entry != "UNLISTED"]
    assert len(set(named)) == len(named)
    assert [entry for entry in named if entry not in WRITTEN | dict.fromkeys(MADE)] == []
    folders = {entry.removesuffix("*") for entry in entries() if entry.endswith("*")} | {"methods/", "environments/"}
    beside = [name for name in WRITTEN if "/" in name and name not in named and not name.startswith(tuple(folders))]
    assert beside == [], "name it in docs/index.md"


def test_a_new_page_beside_the_index_is_listed_by_itself(tmp_path: Path) -> None:
    sys.path.insert(0, str(DOCS))
    try:
        from conf import unlisted  # noqa: PLC0415 - the settings of Sphinx are a module beside the pages
    finally:
        sys.path.remove(str(DOCS))
    for name in ("index", "theory", "brand-new", "tutor"):  # the index speaks of a tutor, too
        (tmp_path / f"{name}.md").write_text("# A page\n")
    assert unlisted(INDEX, tmp_path) == ["brand-new", "tutor"]


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN.values()], ids=lambda p: p.name
)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](#one) [b](#two) [c](nowhere.md) [d](page.md#one)\n")
    assert broken(page) == ["#two", "nowhere.md"]


def test_every_public_name_is_in_the_reference() -> None:
    pages = python_api.pages()
    missing = []
    for each in python_api.public_names():
        text = pages[f"python/{each.package}.md"]
        entry = rf"^`+{{py:\w+}} {re.escape(each.name)}(\(|$)|^`{re.escape(each.package)}\.{re.escape(each.name)}`"
        if not re.search(entry, text, re.MULTILINE):
            missing.append(f"{each.package}.{each.name}")
    assert missing == []
    assert len(pages) == len(python_api.packages()) + 1


def test_every_name_of_mccpo_has_an_example() -> None:
    without = [name for name in mccpo.__all__ if ">>>" not in (getattr(mccpo, name).__doc__ or "")]
    assert sorted(without) == sorted(ELSEWHERE)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, where in ELSEWHERE.items():
        if where == "mccpo":
            assert f"mccpo.{name}" in (mccpo.__doc__ or "")
        else:
            assert name in contributing.partition(f"## {where}\n")[2].partition("\n## ")[0]


def test_every_public_name_of_a_room_has_an_example() -> None:
    on_pages = {name: page for names, page in FOLLOWED.items() for name in names.split()}
    offered = {(each.package, each.name): each.value for each in python_api.public_names()}
    without = []
    for package, names in PUBLIC.items():
        for name in names:
            page = ROOT / on_pages[name] if name in on_pages else None
            shown = page is not None and re.search(rf"import .*\b{name}\b", page.read_text(encoding="utf-8"))
            if not shown and ">>>" not in (offered[package, name].__doc__ or ""):
                without.append(f"{package}.{name}")
    assert without == []


def test_names_without_an_example_only_become_fewer() -> None:
    values = {id(each.value): each for each in python_api.public_names() if callable(each.value)}.values()
    without = [f"{each.package}.{each.name}" for each in values if ">>>" not in (inspect.getdoc(each.value) or "")]
    assert len(without) <= WITHOUT_EXAMPLE, "give the new name an example in its docstring"
    assert len(without) > WITHOUT_EXAMPLE - 20, "set WITHOUT_EXAMPLE to the new, lower number"


def test_pages_import_only_public_names() -> None:
    inner = set()
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN.values()):
        for program in PROGRAM.findall(page.read_text(encoding="utf-8")):
            for package, names in IMPORTED.findall(program):
                listed = {name for name in re.split(r"[\s,]+", names) if name}
                rest = {name for name in listed if not python_api.is_public(package, name)}
                inner |= {f"{page.name}: {package}.{name}" for name in rest}
    assert sorted(inner) == []


def test_every_command_request_metric_and_error_is_in_the_reference() -> None:
    page = commands.page()
    assert [name for name in COMMANDS if f"\n## mccpo {name}\n" not in page] == []
    assert "`--floor STR...`" in page
    api, document = http_api.page(), http_api.openapi_document()
    for path, operations in document["paths"].items():
        for verb in operations:
            assert f"### `{verb.upper()} {path}`" in api
    assert [name for name in every_metric() if f"- `{name}" not in metrics.page()] == []
    assert len(list(messages.messages())) > 400
    assert "already holds a run** — choose another --out" in messages.page()


def test_the_diagram_has_every_room_and_shows_only_imports_that_go_up() -> None:
    drawn, order = architecture.diagram(), rooms()
    assert {"curriculum", "env", "cli"} <= set(order)
    assert [room for room in order if f">{room}</tspan>" not in drawn] == []
    assert [pair for pair in architecture.imports() if order.index(pair[0]) < order.index(pair[1])] == []


@pytest.mark.parametrize("page", [*WRITTEN.values(), *ROOT.glob("[RC]*.md")], ids=lambda page: page.name)
def test_no_line_is_wide(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert measure(text).widest <= WIDE
    assert [at for at, line in enumerate(text.splitlines(), 1) if len(line) > WIDE] == []


def test_few_sentences_are_long() -> None:
    total = together(measure(page.read_text(encoding="utf-8")) for page in WRITTEN.values())
    assert total.sentences > 2000
    assert total.long / total.sentences < 0.05, "see `make readability`"


def test_a_long_sentence_is_found() -> None:
    text = f"Short. A {'word ' * LONG}more and an end. It is said."
    assert next(sentences(text)) == "Short."
    assert measure(text)[:5] == (3, LONG + 9, 1, 1, 0)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_site_builds_without_a_warning_and_loads_nothing(tmp_path: Path) -> None:
    """Notebooks aside: `test_notebooks_run` runs them."""
    subprocess.run([sys.executable, "-m", "docs.generate", "docs"], check=True, cwd=ROOT)
    call = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", str(tmp_path / "html")]
    built = subprocess.run(call, cwd=ROOT, env={**os.environ, "MCCPO_NOTEBOOKS": "off"}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for page in (tmp_path / "html").rglob("*.html"):
        if "_downloads" not in page.parts:
            assert (
                re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"https?:[^\"]+", page.read_text("utf-8"))
                == []
            )
