"""The `mccpo` command: thin commands over the rest of the package."""

from mccpo.cli.app import main

__all__ = ["main"]
