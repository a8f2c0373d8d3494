"""Who may call: API keys with their roles and rights, and which hosts are this machine. Imports no web framework."""

from mccpo.serve.access.keys import EVERYONE, LOCAL, ROLES, Caller, Key, KeyFile, Right, keys_beside
from mccpo.serve.access.loopback import is_loopback
from mccpo.serve.access.security_log import LogFormat, write_logs

__all__ = [
    "EVERYONE",
    "LOCAL",
    "ROLES",
    "Caller",
    "Key",
    "KeyFile",
    "LogFormat",
    "Right",
    "is_loopback",
    "keys_beside",
    "write_logs",
]
