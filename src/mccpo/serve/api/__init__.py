"""The service over HTTP: thin routes under /v1, which check form and rights and leave the rest to the service."""

from mccpo.serve.api.app import create_app
from mccpo.serve.api.listening import listen, run_app, run_loop
from mccpo.serve.api.settings import Settings

__all__ = ["Settings", "create_app", "listen", "run_app", "run_loop"]
