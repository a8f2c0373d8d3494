"""Which hosts are this very machine."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine and can be no other.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "10.0.0.1", "localhost.example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a name, which may be anybody's
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
