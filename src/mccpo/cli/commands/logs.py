"""`mccpo logs`: what logs hold, the canonical table of them, and made-up logs to try things on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import App, Parameter

from mccpo import files
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note, parse_pairs
from mccpo.errors import InputError
from mccpo.files import dump_json

if TYPE_CHECKING:
    import polars as pl

    from mccpo.logs import Logs, ReadOptions

_SHOWN = 8
"""How many reasons the text lists; the JSON has them all."""
_ACCOUNT = (
    "rows", "interactions", "learners", "concepts", "items", "without_concept", "rejected", "first", "last",
    "skipped", "duplicates", "merged", "out_of_order", "reasons", "skips",
)  # fmt: skip
_TAB = "tab"

FormatFlag: TypeAlias = Annotated[
    str | None, Parameter(help="What wrote the log, such as junyi-2020, or table for one of your own with --map.")
]
MapFlag: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        negative="", help="Columns by what they hold, such as learner=student,concept=skill,time=when,correct=right."
    ),
]
DelimiterFlag: TypeAlias = Annotated[
    str | None, Parameter(help="What stands between fields, such as ';', or the word tab; the format's own by default.")
]
EncodingFlag: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="How text is encoded, such as iso-8859-15; the format's own by default. A mark of UTF-8 or "
        "UTF-16 at the start of a file is known by itself."
    ),
]
ModelFlag: TypeAlias = Annotated[
    str | None, Parameter(help="Which knowledge-component model to take concepts from, where a file has several.")
]
MostFlag: TypeAlias = Annotated[
    float | None, Parameter(help="The share of rejected rows above which reading stops; 0.01 by default.")
]


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """The flags of every command that takes a canonical table or a log; `TableFlags` is the type of its parameter."""

    format: FormatFlag = None
    map: MapFlag = None
    delimiter: DelimiterFlag = None
    encoding: EncodingFlag = None
    most_rejected: MostFlag = None

    @property
    def options(self) -> ReadOptions:
        """What the flags say about a file beyond its format."""
        from mccpo.logs import ReadOptions

        delimiter = "\t" if self.delimiter == _TAB else self.delimiter
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
            raise InputError(f"--delimiter is {delimiter!r}", fix="give one character, or the word tab")
        return ReadOptions(delimiter, self.encoding, parse_pairs(self.map or [], "--map", str))

    def read(self, file: Path) -> pl.DataFrame:
        """The canonical table of the log; without a format, the file is that table already, as parquet."""
        from mccpo.logs import read_table

        if self.format is not None:
            return self.load(file).table
        _ = self.options  # flags that make no sense are refused, needed or not
        table = read_table(file)
        asked = {"--map": self.map, "--delimiter": self.delimiter, "--encoding": self.encoding}
        for flag, value in asked.items():
            if value:
                fix = f"leave {flag} out, or name a format with --format"
                raise InputError(f"{file} is a canonical table, which {flag} says nothing about", fix=fix)
        return table

    def load(self, file: Path) -> Logs:
        """Reads the log."""
        from mccpo.logs import MOST_REJECTED, SOURCES, load

        options = self.options
        if self.format is None:
            own = "a table of your own is read by --format table --map learner=COLUMN,correct=COLUMN,…"
            raise InputError("no --format is given", fix=f"choose from {', '.join(sorted(SOURCES))}; {own}")
        most = MOST_REJECTED if self.most_rejected is None else self.most_rejected
        read = load(file, self.format, options, most_rejected=most)
        if options.model is None and len(read.models) > 1:
            first, *others = read.models
            note(f"concepts are those of the model {first!r}; --model takes another: {', '.join(others)}")
        return read


@dataclass(frozen=True, kw_only=True)
class LogReading(TableReading):
    """The flags of every command that reads a log with its account; `LogFlags` is the type of its parameter."""

    model: ModelFlag = None

    @property
    def options(self) -> ReadOptions:
        """What the flags say about a file beyond its format."""
        return replace(super().options, model=self.model)


TableFlags: TypeAlias = Annotated[TableReading, Parameter(name="*")]
LogFlags: TypeAlias = Annotated[LogReading, Parameter(name="*")]

logs = App(name="logs", help="Check and convert logs of learners, and make up some.")


@logs.command
def check(
    file: Path,
    /,
    *,
    flags: LogFlags = LogReading(),  # noqa: B008 - frozen
    out: Path | None = None,
    json: JsonFlag = False,
) -> None:
    """Read a log and say what is in it: where every row went, and why.

    Parameters
    ----------
    file
        The log: a file, plain or .gz, or the folder of a release.
    out
        A folder to keep the account (account.json) and the rejected rows (rejects.csv: line, reason, columns) in.
    """
    read = flags.load(file)
    result = _account(read)
    if out is not None:
        account, rejects = out / "account.json", out / "rejects.csv"
        _write_account(read, account, rejects)
        result |= {"written": [str(account), str(rejects)]}
    elif read.account.rejected and not json:
        note("the rejected rows are not kept; --out DIR keeps them, with line and reason")
    emit(result, as_json=json, text=lambda: "\n".join(_text(file, read.format, result)))


@logs.command
def convert(
    file: Path,
    /,
    *,
    out: Path,
    flags: LogFlags = LogReading(),  # noqa: B008 - frozen
    json: JsonFlag = False,
) -> None:
    """Write the canonical table of a log, which every other command reads without being told a format.

    Parameters
    ----------
    file
        The log: a file, plain or .gz, or the folder of a release.
    out
        The table, NAME.parquet. Its account goes beside it (NAME.account.json), and so do the rejected rows
        (NAME.rejects.csv: line, reason, columns).
    """
    from mccpo.logs import write_table

    account, rejects = out.with_suffix(".account.json"), out.with_suffix(".rejects.csv")
    check_table("--out", out, file, account, rejects)
    read = flags.load(file)
    with files.replacing(out) as scratch:  # in place last: there is never a table that does not say what it lacks
        write_table(read.table, scratch)
        _write_account(read, account, rejects)
    result = _account(read) | {"written": [str(out), str(account), str(rejects)]}
    emit(result, as_json=json, text=lambda: "\n".join(_text(file, read.format, result)))


@logs.command
def generate(
    format: str,
    /,
    *,
    out: Path,
    rows: WholeNumber,
    learners: WholeNumber | None = None,
    seed: WholeNumber = 0,
    faults: float = 0.0,
    json: JsonFlag = False,
) -> None:
    """Make up a log of a format, with learners who learn, and say what a check of it must find.

    Parameters
    ----------
    format
        The format: junyi-2020, xes3g5m, assistments-2009, ednet-kt1, datashop, pykt, xapi or table.
    out
        The file, or the folder where a release has several files.
    rows
        How many answers, faulty rows included. A format with a row for each concept of an answer has more rows.
    learners
        How many learners; one for 223 answers by default.
    seed
        The root of all random numbers: the same seed gives the same bytes.
    faults
        The share of faulty rows: repeated, too long, cut short, without a learner, or with an answer or a time that
        cannot be read. How many there are of each is told.
    """
    from mccpo.logs.synthetic import generate as make

    made = make(format, out, rows=rows, learners=learners, seed=seed, faults=faults)
    command = ["mccpo", "logs", "check", str(made.path), "--format", format]
    if made.mapping:
        command += ["--map", ",".join(f"{name}={column}" for name, column in made.mapping.items())]
    result = {"path": str(made.path), "format": format, "seed": seed, "expected": made.contents.as_json()}
    result["check"] = shlex.join(command)
    emit(result, as_json=json, text=lambda: "\n".join(_made_text(result)))


def check_table(flag: str, table: Path, log: Path, *beside: Path) -> None:
    """Refuses a place for a table that is no parquet file, or where it, or what goes beside it, would be the log."""
    if table.suffix.lower() != ".parquet":
        raise InputError(f"{flag} is {table}", fix="name a file that ends in .parquet")
    for path in (table, *beside):
        if path.is_dir():
            raise InputError(f"{flag} would write {path}, which is a folder", fix="choose another name")
        if path.exists() and log.exists() and path.samefile(log):
            raise InputError(f"{flag} would overwrite {log}", fix="choose another name")


def _account(read: Logs) -> dict[str, Any]:
    account = read.account.as_json()
    return {name: account[name] for name in _ACCOUNT}


def _write_account(read: Logs, account: Path, rejects: Path) -> None:
    from mccpo.logs import write_rejects

    with files.replacing(account) as scratch:
        scratch.write_text(dump_json({"format": read.format} | _account(read), indent=2) + "\n", encoding="utf-8")
        write_rejects(read, rejects)


def _text(file: Path, format: str, result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{file} ({format})"
    yield from _counts(result)
    yield f"{'without a concept':<18}{result['without_concept']:>14,}"
    yield f"{'learners':<18}{result['learners']:>14,}"
    yield f"{'concepts':<18}{result['concepts']:>14,}"
    yield f"{'items':<18}{result['items']:>14,}"
    if result["first"] is not None:
        yield f"from {result['first']} to {result['last']}"
    if "written" in result:
        yield f"wrote {', '.join(result['written'])}"


def _counts(result: Mapping[str, Any]) -> Iterator[str]:
    """Where the rows went, as a sum that can be checked by eye."""
    yield f"{'rows':<18}{result['rows']:>14,}"
    yield from _why("- rejected", result["rejected"], result["reasons"])
    yield from _why("- skipped", result["skipped"], result["skips"])
    yield f"{'- duplicates':<18}{result['duplicates']:>14,}"
    yield f"{'- merged':<18}{result['merged']:>14,}  (another concept of the same event)"
    yield f"{'= interactions':<18}{result['interactions']:>14,}  ({result['out_of_order']:,} out of order, sorted)"


def _why(name: str, total: int, counts: Mapping[str, int]) -> Iterator[str]:
    yield f"{name:<18}{total:>14,}"
    shown, rest = list(counts.items())[:_SHOWN], list(counts.values())[_SHOWN:]
    yield from (f"    {count:>10,}  {reason}" for reason, count in shown)
    if rest:
        yield f"    {sum(rest):>10,}  for {len(rest)} other reasons (--json lists all)"


def _made_text(result: Mapping[str, Any]) -> Iterator[str]:
    expected = result["expected"]
    yield f"wrote {result['path']} ({result['format']}, {expected['learners']:,} learners, seed {result['seed']})"
    yield "a check of it must find"
    yield from _counts(expected)
    yield result["check"]
