"""The run folder: manifest, results, policies, checkpoints, and what one run leaves for the next. Nothing needs jax.

Two modules are imported on their own: `curves` needs polars, `tensorboard` needs tensorboardX.
`mccpo.runs.results` has the types of a run's results, `mccpo.runs.benchmark` those of a benchmark's.
"""

from mccpo.runs.cache import Cache, machine, prune
from mccpo.runs.checkpoints import Checkpoints, read_checkpoint
from mccpo.runs.folder import RunFolder, read_run
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
    "Checkpoints",
    "PolicyFile",
    "RunFolder",
    "StoredPolicies",
    "curves",
    "digest",
    "machine",
    "naming",
    "network_from_json",
    "network_json",
    "prune",
    "read_checkpoint",
    "read_policy_file",
    "read_run",
    "tensorboard",
    "write_policy_file",
]
