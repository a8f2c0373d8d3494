"""Who may call: API keys with their roles and rights, and which hosts are this machine. Imports no web framework."""

from mccpo.serve.access.keys import EVERYONE, FORMAT, LOCAL, Caller, KeyFile, Right
from mccpo.serve.access.loopback import is_loopback

__all__ = ["EVERYONE", "FORMAT", "LOCAL", "Caller", "KeyFile", "Right", "is_loopback"]
