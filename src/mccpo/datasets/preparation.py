"""From the file or folder that was downloaded to a canonical table, and to an environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mccpo.datasets.catalogue import PublicDataset, get
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.curriculum import RawGraph
    from mccpo.experiments.prepare import Dataset, Prepared
    from mccpo.logs import Logs

_TABLES = {"junyi-2020": "junyi", "xes3g5m": "xes3g5m"}
"""The data sets whose graph is derived from the release, by the name of the table from logs that does the same."""
_EXPERTS = "junyi_Exercise_table.csv"
_LOG = "junyi_ProblemLog_original.csv"


def read(name: str, path: str | Path) -> Logs:
    """The canonical table of a release, and where each of its rows went.

    `path` is the file or the folder that was downloaded.

    >>> import tempfile
    >>> from mccpo.logs.synthetic import generate
    >>> folder = tempfile.mkdtemp()
    >>> _ = generate("ednet-kt1", f"{folder}/KT1", rows=60, learners=3)
    >>> read("ednet-kt1", f"{folder}/KT1").table["learner"].n_unique()
    3
    """
    from mccpo.logs import load  # noqa: PLC0415 - polars: the catalogue does without it

    dataset, source = get(name), Path(path)
    if name == "junyi-2015" and source.is_dir():
        source /= _LOG
    if name == "assistments-2009" and source.is_dir():
        source /= dataset.files[0]
    return load(source, dataset.format)


def prepare(name: str, path: str | Path, out: str | Path, *, seed: int = 0) -> Path:
    """Makes a folder of a release that `mccpo.make`, `compare` and `train` take as the name of an environment.

    `path` is the file or the folder that was downloaded, `out` the folder to write. Half of the learners make the
    environment to train in, the other half those to judge by, as with `mccpo prepare`.

        folder = mccpo.datasets.prepare("assistments-2009", "skill_builder_data_corrected.csv", "mine")
        env = mccpo.make(str(folder), horizon=60)

    A file that is not there is told with what to fetch:

    >>> try:
    ...     prepare("xes3g5m", "nowhere", "mine")
    ... except InputError as error:
    ...     error.fix
    'fetch kc_level/, metadata/questions.json, metadata/kc_routes_map.json from https://github.com/ai4ed/XES3G5M'
    """
    from mccpo.experiments.prepare import check_folder  # noqa: PLC0415 - jax and polars: the catalogue does without

    dataset, source, folder = get(name), Path(path), Path(out)
    if not source.exists():
        raise InputError(f"{source} does not exist", fix=f"fetch {', '.join(dataset.files)} from {dataset.home}")
    check_folder(folder)
    prepared = (_by_recipe if name in _TABLES else _of_release)(dataset, source, seed)
    prepared.compared().write(folder)
    return folder


def _by_recipe(dataset: PublicDataset, path: Path, seed: int) -> Prepared:
    from mccpo.experiments.prepare import DATASETS  # noqa: PLC0415 - polars

    recipe: Callable[[Path, int], Dataset] = DATASETS[_TABLES[dataset.name]]
    return recipe(path if path.is_dir() else path.parent, seed).prepared


def _of_release(dataset: PublicDataset, path: Path, seed: int) -> Prepared:
    from mccpo.experiments.prepare import LogOrigin, PrepareOptions  # noqa: PLC0415 - polars
    from mccpo.experiments.prepare import prepare as make  # noqa: PLC0415 - polars

    logs = read(dataset.name, path)
    graph, repairs = _graph(dataset, path, logs)
    origin = LogOrigin(path.name, logs.format, logs.account)
    return make(logs.table, graph, PrepareOptions(seed=seed), origin=origin).warned(repairs)


def _graph(dataset: PublicDataset, path: Path, logs: Logs) -> tuple[RawGraph, list[str]]:
    """The experts' graph where there is one beside the log, else one that is learnt from the answers."""
    from mccpo.curriculum import read_raw  # noqa: PLC0415 - rustworkx
    from mccpo.curriculum.derive import learn_graph  # noqa: PLC0415 - scipy
    from mccpo.curriculum.lint import repaired  # noqa: PLC0415 - rustworkx
    from mccpo.logs import responses_by_concept  # noqa: PLC0415 - polars

    if _EXPERTS not in dataset.files:
        return learn_graph(responses_by_concept(logs.table), origin=dataset.name).graph, []
    table = (path if path.is_dir() else path.parent) / _EXPERTS
    if not table.exists():
        raise InputError(f"{table} does not exist", fix=f"fetch it from {dataset.home}, and put it beside the log")
    graph, removed = repaired(read_raw(table))
    return graph, [f"the graph had {len(removed)} faults, which were repaired"] if removed else []
