"""The certificates of a run, which its folder keeps: each in a file of its own, and what was looked at so far.

```
certificates/looked.json             the environments that policies were looked at in, in turn, and the files
certificates/PART.METHOD.json        a certificate in the environment of training
certificates/PART.METHOD.on-ENV.json one in another
```

An environment keeps its place, and with it its part of the chance of error, however often it is looked at: the bounds
of `certify` hold for all numbers of episodes together. The place is taken before episodes are played, so that a look
that came to nothing counts too. A second certificate of the same name has a number at its end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mccpo import files
from mccpo._version import __version__
from mccpo.env import describe_environment, make
from mccpo.errors import InputError
from mccpo.experiments import evaluate
from mccpo.experiments.certification.certify import Progress, Terms, certify, check_policy, family_of, prepare
from mccpo.experiments.certification.judges import judges_of
from mccpo.experiments.saved_policies import Policies, load_policies
from mccpo.files import dump_json, read_json
from mccpo.methods import EVALUATION_EPISODES
from mccpo.runs import digest
from mccpo.runs.results import CERTIFICATE_FORMAT, Certificate, Seal

FOLDER = "certificates"
LEDGER = "looked.json"
TRAINING = "environment of training"
_AGAIN = "run `mccpo certify` again"


@dataclass(frozen=True)
class Look:
    """An environment that policies were looked at in, seen through an error of the estimate; which one, by digest."""

    name: str
    estimation_error: float
    sha256: str

    @property
    def words(self) -> str:
        """The environment as a reader knows it."""
        return f"{self.name}, σ = {self.estimation_error:g}" if self.estimation_error else self.name


@dataclass(frozen=True)
class Ledger:
    """What was looked at of a run's policies so far: environments in turn, and the files of certificates in turn."""

    policies: str
    looks: tuple[Look, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def read(cls, run: Path) -> Ledger:
        """The ledger of a run's policies; a new one where they are others than those that were looked at."""
        path, policies = run / FOLDER / LEDGER, digest(run)
        raw = read_json(path, fix=f"delete {path.parent}") if path.exists() else {}
        if raw.get("policies_sha256") != policies:
            return cls(policies)
        try:
            return cls(policies, tuple(Look(**look) for look in raw["looks"]), tuple(map(str, raw["certificates"])))
        except (KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged", fix=f"delete {path.parent}, and certify again") from error

    def write(self, run: Path) -> None:
        """Keeps the ledger."""
        looks = [vars(look) for look in self.looks]
        content = {"policies_sha256": self.policies, "looks": looks, "certificates": list(self.names)}
        files.write_text(run / FOLDER / LEDGER, dump_json(content, indent=2) + "\n")

    def looking(self, look: Look) -> Ledger:
        """The same with an environment more, unless it is there."""
        return self if look in self.looks else replace(self, looks=(*self.looks, look))


def all_environments(run: Path, method: str | None, part: str | None) -> tuple[list[str | None], tuple[str, ...]]:
    """The environment of training and those of the run's judges, and what to say of judges that are left out."""
    saved = load_policies(run)
    policies = _only(saved, method, part)
    judges = judges_of(run, policies.part)
    if judges.files and evaluate.unconstrained_of(policies, saved) is None:
        missing = "no judge is asked: the run keeps no unconstrained policies, which budgets there refer to"
        return [None], (f"{missing}; train it again",)
    return [None, *map(str, judges.files)], judges.notes


def certify_run(
    run: Path,
    terms: Terms,
    *,
    method: str | None = None,
    part: str | None = None,
    on: Sequence[str | None] = (None,),
    progress: Progress | None = None,
) -> list[tuple[Certificate, Path]]:
    """Certifies policies of a run in each of some environments, and keeps the certificates, passed or not.

    None stands for the environment of training; any other is a name or the file of one. The chance of error is shared
    over all policies of the run and all environments that they were ever looked at in.
    """
    saved = load_policies(run)
    policies = _only(saved, method, part)
    check_policy(policies, terms)
    with ThreadPoolExecutor(1) as beside:  # what plays is compiled while floors elsewhere are found
        ready = beside.submit(prepare, policies, terms)
        places = list(_places(policies, saved, on, terms))
        ready.result()
    ledger = Ledger.read(run)
    for look, _ in places:
        ledger = ledger.looking(look)
    ledger.write(run)
    made = []
    for look, there in places:
        names = [one.words for one in ledger.looks]
        family = family_of(saved, names, ledger.looks.index(look), len(ledger.names))
        certificate = certify(there, terms, progress, among=saved, family=family)
        on_other = "" if look.name == TRAINING else look.name
        made.append(write_certificate(run, replace(certificate, on=on_other)))
        ledger = Ledger.read(run)
    return made


def write_certificate(run: Path, certificate: Certificate) -> tuple[Certificate, Path]:
    """Keeps a certificate beside those that are there; gives it as it is kept, and its file.

    The same certificate, made again, is the same file.
    """
    sealed = replace(certificate, seal=Seal(__version__, digest(run)))
    text = dump_json(sealed.as_json(), indent=2) + "\n"
    for path in _paths(run, certificate):
        if not path.exists():
            break
        if Certificate.parse(read_json(path, fix=_AGAIN), str(path)).says_the_same(sealed):
            return sealed, path
    files.write_text(path, text)
    ledger = Ledger.read(run)
    replace(ledger, names=(*ledger.names, path.name)).write(run)
    return sealed, path


def certificate_files(run: Path) -> list[Path]:
    """The files of all certificates of a run in the order in which they were made; first those of earlier versions."""
    earlier = sorted(run.glob("certificate*.json"))
    kept = [path for path in (run / FOLDER).glob("*.json") if path.name != LEDGER]
    order = {name: place for place, name in enumerate(Ledger.read(run).names)} if kept else {}
    return [*earlier, *sorted(kept, key=lambda path: (order.get(path.name, -1), path.name))]


def read_certificate(run: Path, path: Path) -> Certificate:
    """One certificate of a run; one of other policies than the run's is refused."""
    raw = read_json(path, fix=_AGAIN)
    if raw.get("format") != CERTIFICATE_FORMAT or not isinstance(raw.get("passed"), bool):
        raise InputError(f"{path} is not a certificate", fix=_AGAIN)
    if raw.get("policies_sha256") != digest(run):
        raise InputError(f"{path} is about other policies than those of the run", fix=_AGAIN)
    return Certificate.parse(raw, str(path))


def read_certificates(run: Path) -> list[Certificate]:
    """All certificates of a run."""
    return [read_certificate(run, path) for path in certificate_files(run)]


def _places(
    policies: Policies, saved: Sequence[Policies], on: Sequence[str | None], terms: Terms
) -> Iterator[tuple[Look, Policies]]:
    """The environments, each once, and the policies in each of them."""
    for name in dict.fromkeys(on):
        env = None if name is None else make(name)
        there = policies if env is None else evaluate.moved(policies, env, saved, EVALUATION_EPISODES, policies.seed)
        yield _look(name, env, terms), there


def _look(name: str | None, env: Any, terms: Terms) -> Look:
    if name is None:
        return Look(TRAINING, terms.estimation_error, "")
    described = dump_json([env.name, describe_environment(env)])
    return Look(Path(name).stem, terms.estimation_error, hashlib.sha256(described.encode()).hexdigest())


def _only(saved: Sequence[Policies], method: str | None, part: str | None) -> Policies:
    """The policies of one method in one part."""
    chosen = evaluate.choose(saved, method or evaluate.preferred(saved), part)
    if len(chosen) > 1:
        parts = ", ".join(f"'{policies.part}'" for policies in chosen)
        raise InputError("the run has several parts", fix=f"name one with --part: {parts}")
    return chosen[0]


def _paths(run: Path, certificate: Certificate) -> Iterator[Path]:
    """The names that a certificate may have, in turn."""
    chosen = [one.policy for one in certificate.policies]
    parts = [
        certificate.part,
        certificate.method,
        f"policy-{chosen[0]}" if len(chosen) == 1 else "",
        f"on-{certificate.on}" if certificate.on else "",
        f"sigma-{certificate.estimation_error:g}" if certificate.estimation_error else "",
    ]
    stem = ".".join(re.sub(r"[^\w.=+-]+", "-", part) for part in parts if part)
    number = 1
    while True:
        yield run / FOLDER / (f"{stem}.json" if number == 1 else f"{stem}.{number}.json")
        number += 1
