"""The documentation as a site: `make docs` builds it. It needs the extra `docs` and no network.

Tutorials are notebooks. They run when they change, and their outputs are kept in `docs/_build` for the next time.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

from mccpo import __version__

DOCS = Path(__file__).parent
UNLISTED = "UNLISTED"
"""Stands in a table of contents of `index.md` for the pages beside it that no table names."""

project = "mccpo"
author = "the authors of mccpo"
copyright = f"2026, {author}"
release = version = __version__
language = "en"
smartquotes = False  # `--flag` in a table of messages is no dash

extensions = ["myst_nb"]
exclude_patterns = ["_build", "benchmark/*", "demo", "generate", "results"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

nb_execution_mode = os.environ.get("MCCPO_NOTEBOOKS", "cache")  # `off` leaves them out of a quick build
nb_execution_cache_path = str(DOCS / "_build" / "notebooks")
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_number_source_lines = False

html_theme = "furo"
html_title = f"mccpo {__version__}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path: list[str] = []
python_use_unqualified_type_names = True
toc_object_entries = False
suppress_warnings = [
    "ref.python",  # a few names stand for one thing in one room and for another elsewhere
    "misc.highlighting_failure",  # the lexer of notebooks does not know a shell command of two lines
]
nitpicky = False  # types of other packages have no page here, and none is downloaded


def unlisted(index: str, docs: Path = DOCS) -> list[str]:
    """The pages beside the index that none of its tables of contents names."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.MULTILINE | re.DOTALL)
    named = {line for tree in trees for line in tree.splitlines()}  # a word of the text may be the name of a page
    return [page.stem for page in sorted(docs.glob("*.md")) if page.stem not in named | {"index"}]


def list_the_rest(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts pages that nobody listed where the index says so: a new page is in the site from the start."""
    del app
    if page == "index":
        source[0] = source[0].replace(UNLISTED, "\n".join(unlisted(source[0])))


def read_the_index_again(*_: object) -> list[str]:
    """Has Sphinx read the index in every build, since a new page changes what it lists, and not its file."""
    return ["index"]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("env-get-outdated", read_the_index_again)
    app.connect("source-read", list_the_rest)
