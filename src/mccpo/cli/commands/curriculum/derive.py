"""`mccpo curriculum derive`, `choices`, `learn` and `compare`: graphs that nobody stated, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from mccpo import files
from mccpo.cli.commands.logs import TableFlags, TableReading
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, literal, parse_pairs
from mccpo.cli.flags import GraphArgument
from mccpo.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mccpo.curriculum import Curriculum
    from mccpo.curriculum.derive import Agreement, Comparison, Derived, GraphSize

Recipe: TypeAlias = Literal["junyi-2020", "xes3g5m", "case"]
Orientation: TypeAlias = Literal["responses", "order", "reach", "responses+order", "responses+reach"]


def derive(
    file: Path,
    /,
    *,
    recipe: Recipe,
    out: Path,
    choice: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    counts: Path | None = None,
    members: Path | None = None,
    json: JsonFlag = False,
) -> None:
    """Derive a prerequisite graph from a taxonomy or from standards.

    Parameters
    ----------
    file
        Info_Content.csv (junyi-2020), questions.json with kc_routes_map.json beside it (xes3g5m), or a CASE package.
    recipe
        How the graph is made.
    out
        The graph, a .json file: it says that it is derived, how, and where each edge comes from.
    choice
        NAME=VALUE, repeated or joined by commas: what the recipe leaves open, such as cluster=level3.
    counts
        Interactions by exercise or component: a CSV whose first column is the id and last the number, or a JSON object.
    members
        Write here, as CSV, which items each concept stands for.
    """
    from mccpo.curriculum.derive import RECIPES, read_counts

    _refuse_unlabelled(out)
    given = parse_pairs(choice, "--choice", literal)
    interactions = None if counts is None else read_counts(counts)
    derived = RECIPES[recipe].run(file, given, interactions)
    if members is not None:
        files.write_text(members, _members_csv(derived))
    _write(derived, out, as_json=json)


def choices(
    file: Path,
    /,
    *,
    nearest: Annotated[WholeNumber, Parameter(help="How many of the nearest combinations to show.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Show what the recipe junyi-2020 yields under the choices that it leaves open, beside the paper's graph.

    Parameters
    ----------
    file
        Info_Content.csv.
    """
    from mccpo.curriculum.derive import PAPER, every_combination, one_at_a_time, read_taxonomy

    taxonomy = read_taxonomy(file)
    single = list(one_at_a_time(taxonomy))
    every = every_combination(taxonomy)
    exact = [size for size in every if size.distance == 0]
    result = {
        "paper": dict(zip(("concepts", "edges"), PAPER, strict=True)),
        "exercises": len(taxonomy.exercises),
        "notes": taxonomy.notes,
        "one_at_a_time": [{"change": change, **size.as_json()} for change, size in single],
        "combinations": len(every),
        "exact": len(exact),
        "every": [size.as_json() for size in every],
    }
    emit(result, as_json=json, text=lambda: _choices_text(result, single, every, nearest))


def learn(
    logs: Path,
    /,
    *,
    out: Path,
    flags: TableFlags = TableReading(),  # noqa: B008 - frozen
    score: Literal["first", "mean"] = "first",
    orient: Orientation = "responses",
    weigh: Literal["shared", "none"] = "shared",
    strata: WholeNumber = 1,
    min_learners: WholeNumber = 30,
    false_discoveries: float = 0.05,
    floor: float = 0.5,
    max_prerequisites: WholeNumber = 2,
    json: JsonFlag = False,
) -> None:
    """Learn a prerequisite graph from responses, by tests on every pair of concepts.

    Parameters
    ----------
    logs
        A canonical table (parquet), or a log of the format that --format names.
    out
        The graph, a .json file: it says that it is derived, how, and what supports each edge.
    score
        What a learner knows of a concept: the first answer, or the mean of all.
    orient
        What tells the direction: which concept is known more often, answered first, or answered by more learners.
    weigh
        Whether an association weighs more the larger the share of learners who met both concepts.
    strata
        Compare learners within this many classes of ability.
    min_learners
        Test a pair of concepts if at least so many learners answered both.
    false_discoveries
        The share of false findings that is tolerated.
    floor
        What P(prerequisite known | concept known) and P(concept unknown | prerequisite unknown) must exceed.
    max_prerequisites
        How many prerequisites a concept keeps, the strongest.
    """
    from mccpo.curriculum.derive import LearnChoices, learn_graph
    from mccpo.logs import responses_by_concept

    _refuse_unlabelled(out)
    settled = LearnChoices(
        min_learners=min_learners, false_discoveries=false_discoveries, floor=floor, strata=strata,
        orient=orient, weigh=weigh, max_prerequisites=max_prerequisites,
        known_from=1.0 if score == "first" else 0.5,
    )  # fmt: skip
    derived = learn_graph(responses_by_concept(flags.read(logs), score), settled, str(logs))
    _write(derived, out, as_json=json)


def compare(derived: GraphArgument, expert: GraphArgument, /, *, json: JsonFlag = False) -> None:
    """Set a derived graph beside one that an expert stated: precision, recall and direction, beside chance.

    A graph with cycles, self-loops or dangling prerequisites is compared as `check --repair` would leave it.
    The first graph is judged by the second.
    """
    from mccpo.curriculum.derive import compare_graphs

    (ours, our_repairs), (theirs, their_repairs) = _repaired(derived), _repaired(expert)
    comparison = compare_graphs(ours, theirs)
    repairs = {str(path): count for path, count in ((derived, our_repairs), (expert, their_repairs)) if count}
    result = comparison.as_json() | ({"repaired": repairs} if repairs else {})
    emit(result, as_json=json, text=lambda: _comparison_text(comparison, repairs))


def _write(derived: Derived, out: Path, *, as_json: bool) -> None:
    from mccpo.curriculum import Curriculum, write_raw

    graph = Curriculum.from_raw(derived.graph)  # refuses what could not serve as a gate, before anything is written
    write_raw(derived.graph, out)
    provenance = derived.graph.provenances()
    result = {
        "concepts": len(graph), "edges": len(graph.edges), "depth": graph.depth,
        "derived": str(derived.graph.derived), "provenance": provenance, "notes": derived.notes, "written": str(out),
    }  # fmt: skip
    lines = [
        f"{len(graph)} concepts, {len(graph.edges)} edges, depth {graph.depth}",
        *(f"  {count} by {name}" for name, count in provenance.items()),
        *derived.notes,
        f"wrote {out}",
    ]
    emit(result, as_json=as_json, text="\n".join(lines))


def _refuse_unlabelled(out: Path) -> None:
    if out.suffix.lower() != ".json" and [suffix.lower() for suffix in out.suffixes[-2:]] != [".json", ".gz"]:
        raise InputError(f"--out is {out}", fix="name a .json file: no other format can say that the graph is derived")


def _members_csv(derived: Derived) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("item", "concept"))
    writer.writerows((item, concept) for concept, items in derived.members.items() for item in items)
    return text.getvalue()


def _repaired(path: Path) -> tuple[Curriculum, int]:
    from mccpo.curriculum import read_raw
    from mccpo.curriculum.lint import repair

    graph, removed = repair(read_raw(path))
    return graph, len(removed)


def _choices_text(
    result: dict[str, Any], single: Sequence[tuple[str, GraphSize]], every: Sequence[GraphSize], nearest: int
) -> RenderableType:
    from dataclasses import asdict

    from rich.console import Group
    from rich.table import Table

    changes = Table("choice", "concepts", "edges", "depth", title="One choice changed at a time", title_justify="left")
    for change, size in single:
        changes.add_row(change, f"{size.concepts:,}", f"{size.edges:,}", str(size.depth))
    concepts, edges = result["paper"]["concepts"], result["paper"]["edges"]
    sizes: dict[tuple[int, int, int], list[GraphSize]] = {}
    for size in every:
        sizes.setdefault((size.concepts, size.edges, size.depth), []).append(size)
    title = f"Nearest of {len(every):,} combinations to the paper's {concepts} concepts and {edges} edges"
    close = Table("concepts", "edges", "depth", "ways", "first of them", title=title, title_justify="left")
    for (concepts, edges, depth), ways in list(sizes.items())[:nearest]:
        settled = asdict(ways[0].choices)
        shown = " ".join(f"{name}={settled[name]}" for name in settled if name not in ("concept", "min_interactions"))
        close.add_row(str(concepts), str(edges), str(depth), str(len(ways)), shown)
    exact = result["exact"]
    verdict = f"{exact} give exactly the paper's numbers." if exact else "None gives exactly the paper's numbers."
    notes = [f"{result['exercises']:,} exercises", *result["notes"]]
    return Group("; ".join(notes), changes, close, verdict)


def _comparison_text(comparison: Comparison, repairs: dict[str, int]) -> RenderableType:
    from rich.console import Group
    from rich.table import Table

    table = Table("", "derived", "expert", "right", "precision", "recall", "F1", "chance: precision", "recall", "p")
    for name, agreement in (("edges", comparison.edges), ("closure", comparison.closure)):
        table.add_row(name, *_agreement_cells(agreement))
    lines = [
        f"{comparison.concepts} concepts in both; {comparison.only_derived} only in the derived graph, "
        f"{comparison.only_expert} only in the expert's",
        *(f"{path}: compared without {count} faults" for path, count in repairs.items()),
    ]
    if comparison.orientation is None or comparison.orientation_p is None:
        last = "direction: no pair is an edge of both"
    else:
        coin = f"(a coin: 50 %, p {comparison.orientation_p:.2g})"
        last = f"direction: {comparison.orientation:.1%} of {comparison.oriented} pairs {coin}"
    return Group(*lines, table, last)


def _agreement_cells(agreement: Agreement) -> list[str]:
    shares = [
        "–" if value is None else f"{value:.3f}" for value in (agreement.precision, agreement.recall, agreement.f1)
    ]
    chance = [f"{agreement.chance_precision:.4f}", f"{agreement.chance_recall:.4f}", f"{agreement.chance_p:.2g}"]
    return [f"{agreement.found:,}", f"{agreement.expert:,}", f"{agreement.right:,}", *shares, *chance]
