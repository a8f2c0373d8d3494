"""`mccpo curriculum`: check, draw, convert, derive and compare prerequisite graphs."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from mccpo import files
from mccpo.cli.commands.curriculum import derive as curriculum_derive
from mccpo.cli.console.output import JsonFlag, emit, note, parse_pairs
from mccpo.cli.flags import GraphArgument
from mccpo.errors import GateFailed, InputError
from mccpo.files import dump_json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mccpo.curriculum import Curriculum, RawGraph
    from mccpo.curriculum.lint import LintReport, Removal

_LARGE = 200  # concepts beyond which a drawing is too large to be read
_SHOWN = 5
"""How many findings or names of a kind the text lists; the JSON has them all."""

curriculum = App(name="curriculum", help="Check, draw, convert, derive and compare prerequisite graphs.")
for _command in (
    curriculum_derive.derive,
    curriculum_derive.choices,
    curriculum_derive.learn,
    curriculum_derive.compare,
):
    curriculum.command(_command)


@curriculum.command
def check(
    file: GraphArgument,
    /,
    *,
    repair: Path | None = None,
    reduce: Annotated[bool, Parameter(negative="")] = False,
    json: JsonFlag = False,
) -> None:
    """Find cycles, self-loops, dangling, duplicate, nearly duplicate, unreachable and redundant parts of a graph.

    Exits 3 when the graph has a cycle, a self-loop or a dangling prerequisite, unless it was repaired.

    Parameters
    ----------
    repair
        Write a graph without these faults here, and what was removed and why beside it (.removed.json). Refused where
        most of the edges would go.
    reduce
        With --repair, also remove the edges that longer paths imply.
    """
    from mccpo.curriculum import format_of, read_raw, write_raw
    from mccpo.curriculum.lint import check as check_graph
    from mccpo.curriculum.lint import repaired

    if reduce and repair is None:
        raise InputError("--reduce changes nothing by itself", fix="add --repair OUT")
    if repair is not None:
        format_of(repair)
        _refuse_same(file, repair, "--repair")
    raw = read_raw(file)
    report = check_graph(raw)
    result = report.as_json() | _origin(raw)
    removed: tuple[Removal, ...] = ()
    if repair is not None:
        graph, removed = repaired(raw, reduce=reduce)
        record = Path(f"{repair}.removed.json")
        removals = [removal.as_json() for removal in removed]
        # The record first: there is never a repaired graph that does not say what it lacks.
        files.write_text(record, dump_json({"repaired": file, "removed": removals}, indent=2) + "\n")
        write_raw(graph, repair)
        _note_unlabelled(raw, repair)
        result |= {"repaired": str(repair), "record": str(record), "removed": removals}
    emit(result, as_json=json, text=lambda: _check_text(file, raw, report, repair, removed))
    if repair is None and not report.usable:
        raise GateFailed(f"{file} cannot serve as a gate as it stands; repair it with --repair OUT")


@curriculum.command
def show(
    file: GraphArgument,
    /,
    *,
    out: Path | None = None,
    mastery: str | None = None,
    theta: float = 0.7,
    json: JsonFlag = False,
) -> None:
    """Show a prerequisite graph, with what a learner has mastered, is ready for and is locked out of.

    It is a drawing as SVG. A graph of more than 200 concepts becomes a page with a search, where levels are folded and
    each concept has its neighbourhood.

    Parameters
    ----------
    out
        The drawing (.svg) or the page (.html); by default the file's name with .svg, or with .html where the graph is
        large, in the current folder.
    mastery
        A JSON file of masteries by concept, or NAME=0.9,NAME=0.4; concepts that it leaves out have mastery 0.
    theta
        The mastery that a prerequisite must reach, strictly between 0 and 1.
    """
    from mccpo.curriculum import Curriculum, check_theta, draw, read_raw

    check_theta(theta)
    if out is not None and out.suffix.lower() not in (".svg", ".html"):
        raise InputError(f"--out is {out}", fix="name a file that ends in .svg or .html")
    graph = Curriculum.read(file)
    kind = ".html" if len(graph) > _LARGE else ".svg"
    target = out if out is not None else Path(Path(file.name.removesuffix(".gz")).stem + kind)
    known = None if mastery is None else _mastery(mastery, graph)
    result: dict[str, Any] = {
        "concepts": len(graph), "edges": len(graph.edges), "depth": graph.depth,
        "sources": graph.sources, "drawing": str(target),
    } | _origin(read_raw(file))  # fmt: skip
    if known is not None:
        result |= _standing(graph, known, theta)
    if target.suffix.lower() == ".svg":
        content = draw(graph, known, theta, title=file.name)
    else:
        from mccpo.report.curriculum import curriculum_page

        content = curriculum_page(graph, file.name, known, theta)
    files.write_text(target, content)
    emit(result, as_json=json, text=lambda: _show_text(result))


@curriculum.command
def convert(file: GraphArgument, out: Path, /, *, json: JsonFlag = False) -> None:
    """Write a prerequisite graph in another format.

    Parameters
    ----------
    out
        The file to write; its suffix names the format.
    """
    from mccpo.curriculum import Curriculum, format_of, read_raw, write_raw

    format_of(out)
    _refuse_same(file, out, "OUT")
    raw = read_raw(file)
    graph = Curriculum.from_raw(raw)
    write_raw(graph.to_raw().stating(raw.demand).labelled_as(raw), out)
    _note_unlabelled(raw, out)
    result = {"concepts": len(graph), "edges": len(graph.edges), "written": str(out)}
    emit(result, as_json=json, text=f"{out}: {len(graph)} concepts, {len(graph.edges)} edges")


def _origin(raw: RawGraph) -> dict[str, Any]:
    """What the file says of where its edges come from."""
    origin: dict[str, Any] = {} if raw.derived is None else {"derived": str(raw.derived)}
    provenance = raw.provenances()
    return origin | ({"provenance": provenance} if provenance else {})


def _origin_text(origin: dict[str, Any]) -> list[str]:
    lines = [origin["derived"]] if "derived" in origin else []
    counts = origin.get("provenance", {})
    return [
        *lines,
        *([f"edges by {', '.join(f'{name} ({count})' for name, count in counts.items())}"] if counts else []),
    ]


def _note_unlabelled(raw: RawGraph, out: Path) -> None:
    if raw.derived is not None and ".json" not in out.suffixes:
        note(f"{out} cannot say that this graph is {raw.derived}")


def _refuse_same(file: Path, out: Path, what: str) -> None:
    # Not only of files that exist: of `folder/../name` the folder may be missing until writing makes it.
    if out.resolve() == file.resolve():
        raise InputError(f"{what} would overwrite {file}", fix="choose another name")


def _mastery(text: str, graph: Curriculum) -> npt.NDArray[np.float64]:
    """The mastery of every concept, from a JSON file or from NAME=NUMBER entries."""
    import numpy as np

    from mccpo.curriculum import check_mastery

    if Path(text).suffix.lower() == ".json":
        given, source = _mastery_file(Path(text)), text
    else:
        given, source = parse_pairs([text], "--mastery", _any_number), "--mastery"
    K = np.zeros(len(graph))
    for name, value in given.items():
        try:
            K[graph.index(name)] = value
        except InputError as error:
            raise InputError(f"{source}: {error.what}", fix=error.fix) from None
    return check_mastery(K, graph)


def _any_number(text: str) -> float:
    # NaN is let through here, so that the refusal can name the concept
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number from 0 to 1") from None


def _mastery_file(path: Path) -> dict[str, float]:
    from mccpo.curriculum.formats import shorten, unrepeated

    try:
        content = json_text.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=unrepeated)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="check the path") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error})", fix='write {"concept": 0.9, ...}') from error
    if not isinstance(content, dict):
        raise InputError(f"{path} does not map concepts to masteries", fix='write {"concept": 0.9, ...}')
    for name, value in content.items():
        # NaN is let through here as well; a whole number of hundreds of digits is not, since no float holds it
        if isinstance(value, bool) or not isinstance(value, int | float) or value > 1 or value < 0:
            shown = shorten(dump_json(value))
            raise InputError(f"{path}: the mastery of {name!r} is {shown}", fix="give a number from 0 to 1")
    return content


def _standing(graph: Curriculum, K: npt.NDArray[np.float64], theta: float) -> dict[str, Any]:
    """What the learner has mastered, is ready for, and is locked out of by which prerequisites."""
    from mccpo.curriculum import blocking

    mask = graph.ready(K, theta)
    return {
        "theta": theta,
        "mastered": [name for name, value in zip(graph.concepts, K, strict=True) if value >= theta],
        "ready": [name for name, ready in zip(graph.concepts, mask, strict=True) if ready],
        "locked": blocking(graph, K, theta),
    }


def _check_text(
    file: Path, raw: RawGraph, report: LintReport, repair: Path | None, removed: tuple[Removal, ...]
) -> str:
    from mccpo.curriculum.lint import KINDS

    lines = [f"{file}: {report.concepts} concepts, {report.edges} edges, depth {report.depth}"]
    lines += _origin_text(_origin(raw))
    for kind in KINDS:
        findings = [finding for finding in report.findings if finding.kind == kind]
        if findings:
            lines.append(f"{kind}: {len(findings)}")
            lines += [f"  {finding.where}: {finding.message}" for finding in findings[:_SHOWN]]
            lines += _more(len(findings))
    if not report.findings:
        lines.append("no faults")
    if repair is not None:
        lines.append(f"removed: {len(removed)}")
        lines += [f"  {removal.kind}: {removal.where} ({removal.why})" for removal in removed[:_SHOWN]]
        lines += _more(len(removed))
        lines.append(f"wrote {repair} and {repair}.removed.json")
    return "\n".join(lines)


def _show_text(result: dict[str, Any]) -> str:
    lines = [
        f"{result['concepts']} concepts, {result['edges']} edges, depth {result['depth']}",
        *_origin_text(result),
        f"sources: {_names(result['sources'])}",
    ]
    if "ready" in result:
        mastered = set(result["mastered"])
        open_now = [name for name in result["ready"] if name not in mastered]
        lines.append(f"mastered (mastery of at least {result['theta']:g}): {_names(result['mastered'])}")
        lines.append(f"ready and not yet mastered: {_names(open_now)}")
        lines.append(f"locked: {len(result['locked'])}")
        locked = list(result["locked"].items())
        lines += [f"  {name} by {_names(needs)}" for name, needs in locked[:_SHOWN]]
        lines += _more(len(locked))
    lines.append(f"wrote {result['drawing']}")
    return "\n".join(lines)


def _names(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more


def _more(count: int) -> list[str]:
    return [f"  and {count - _SHOWN} more (--json lists all)"] if count > _SHOWN else []
