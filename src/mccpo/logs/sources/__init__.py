"""The log formats, one file each. Every file in this folder is imported, so that a new one needs no list."""

from importlib import import_module
from pkgutil import iter_modules

from mccpo.logs.sources.registry import SOURCES, LogFormat, register_source

__all__ = ["SOURCES", "LogFormat", "register_source"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
