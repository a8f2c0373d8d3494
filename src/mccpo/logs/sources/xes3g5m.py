"""XES3G5M: the folder of the release, or one of its sequence files.

At the level of concepts an answer has a row for each of its concepts, `is_repeat` telling the further ones; at the
level of questions they are joined by `_`. Either way one answer is one event. Concepts have the names of
`metadata/kc_routes_map.json` where that is at hand, taken as they stand: three differ by white space alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from mccpo.errors import InputError
from mccpo.logs.reading.fields import Concepts
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import open_text, reading
from mccpo.logs.sources.registry import register_source
from mccpo.logs.sources.sequences import EVENT, FIELDS, files_in, open_sequences

FILES = (
    ("kc_level/train_valid_sequences.csv", "kc_level/test.csv"),
    ("question_level/train_valid_sequences_quelevel.csv", "question_level/test_quelevel.csv"),
    ("train_valid_sequences.csv", "test.csv"),
    ("train_valid_sequences_quelevel.csv", "test_quelevel.csv"),
)
NAMES = "metadata/kc_routes_map.json"


@register_source("xes3g5m", "XES3G5M (the release's folder, or one of its sequence files)")
def xes3g5m(path: Path, _: ReadOptions) -> Source:
    """Sequences, with the names of concepts where these are at hand."""
    return Source(
        open=lambda path, options: open_sequences(files_in(path, FILES), options),
        fields={**FIELDS, "concept": Concepts("concepts", required=True, between="_", names=_names(path))},
        event=EVENT,
    )


def _names(path: Path) -> dict[str, str]:
    """The names of concepts by their ids, as far as they are at hand."""
    file = next((at / NAMES for at in (path, *path.parents[:2]) if (at / NAMES).is_file()), None)
    if file is None:
        return {}
    try:
        with reading(file), open_text(file) as handle:
            names = json.load(handle)
    except json.JSONDecodeError as error:
        raise InputError(f"{file} is no JSON ({error})", fix="fetch the file again") from error
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise InputError(f"{file} does not map ids to names", fix="fetch the file again")
    return names
