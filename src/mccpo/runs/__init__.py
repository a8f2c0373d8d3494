"""What a run leaves in its folder. What is listed here is read and written without jax."""

from mccpo.runs.cache import Cache, machine, prune
from mccpo.runs.folder import RunFolder, read_checkpoint, read_run
from mccpo.runs.policy_file import (
    DOCUMENT,
    FORMAT,
    TENSORS,
    PolicyFile,
    StoredPolicies,
    digest,
    naming,
    network_from_json,
    network_json,
    read_policy_file,
    write_policy_file,
)

__all__ = [
    "DOCUMENT",
    "FORMAT",
    "TENSORS",
    "Cache",
    "PolicyFile",
    "RunFolder",
    "StoredPolicies",
    "digest",
    "machine",
    "naming",
    "network_from_json",
    "network_json",
    "prune",
    "read_checkpoint",
    "read_policy_file",
    "read_run",
    "write_policy_file",
]
