"""What a run leaves in its folder. What is listed here is read and written without jax."""

from mccpo.runs.policy_file import (
    DOCUMENT,
    FORMAT,
    TENSORS,
    PolicyFile,
    StoredPolicies,
    naming,
    network_from_json,
    read_policy_file,
    write_policy_file,
)

__all__ = [
    "DOCUMENT",
    "FORMAT",
    "TENSORS",
    "PolicyFile",
    "StoredPolicies",
    "naming",
    "network_from_json",
    "read_policy_file",
    "write_policy_file",
]
