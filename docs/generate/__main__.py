"""Writes what the site takes from the code: commands, Python names, the HTTP API, and the diagram of the rooms."""

import sys
from pathlib import Path

from docs.generate import architecture, commands, gate_picture, http_api, messages, metrics, python_api

from mccpo import files


def main(docs: Path) -> None:
    """Writes every generated page and picture below a folder."""
    made = {
        "reference/commands.md": commands.page(),
        "reference/http-api.md": http_api.page(),
        "reference/messages.md": messages.page(),
        "reference/metrics.md": metrics.page(),
        "architecture.svg": architecture.diagram(),
        "gate.svg": gate_picture.picture(),
        **{f"reference/{name}": text for name, text in python_api.pages().items()},
    }
    for name, text in made.items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # the site builds anew what has changed
            files.write_text(path, text)
    sys.stdout.write(f"{len(made)} generated pages and pictures below {docs}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
