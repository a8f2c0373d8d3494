"""Cells of work: parts of a command that processes do side by side, on this machine or on a Ray cluster."""

from mccpo.work.calls import ByCrew, Call, Calls, one_by_one
from mccpo.work.cell import Cell, Crew, Ending, line
from mccpo.work.cores import cores
from mccpo.work.processes import Processes
from mccpo.work.ray_cluster import RayCluster
from mccpo.work.shipping import leave, take

__all__ = [
    "ByCrew",
    "Call",
    "Calls",
    "Cell",
    "Crew",
    "Ending",
    "Processes",
    "RayCluster",
    "cores",
    "leave",
    "line",
    "one_by_one",
    "take",
]
