"""The names of the rooms that users and authors of extensions call. All others are for other rooms of mccpo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PUBLIC: Mapping[str, Sequence[str]] = {
    "mccpo.curriculum": (
        *("RawConcept", "RawGraph", "draw", "fan_in", "misstate", "read_raw", "trusted", "write_raw"),
        *("wrong_edges",),
    ),
    "mccpo.curriculum.derive": ("compare_graphs",),
    "mccpo.curriculum.formats": ("GraphFormat", "RawConcept", "RawGraph"),
    "mccpo.curriculum.lint": ("check", "repair"),
    "mccpo.logs": (
        *("ReadOptions", "Source", "episodes", "load", "read", "read_table", "register_source", "write_table"),
    ),
    "mccpo.logs.audit": ("audit",),
    "mccpo.logs.reading": ("Clock", "Text", "Truth", "open_table"),
    "mccpo.logs.synthetic": ("generate",),
    "mccpo.mastery": ("BKT", "read_model", "write_model"),
    "mccpo.mastery.fitting": ("auc",),
    "mccpo.env": ("Environment", "TutorBKT", "autoreset_step", "environment_names", "make"),
    "mccpo.env.gym": ("SafetyWrapper", "TutorEnv", "TutorVectorEnv", "gym_id"),
    "mccpo.methods": (
        *("NeuralPlan", "OnPolicy", "PPOSettings", "Policy", "Sizes", "evaluate_policy", "method_names", "penalised"),
        *("price_unit", "register_method"),
    ),
    "mccpo.evaluation": (
        *("envelope", "holm", "hypervolume", "normal_bound", "paired", "share_interval", "summarise", "upper_bound"),
        *("welch",),
    ),
    "mccpo.runs": ("read_run",),
    "mccpo.experiments": ("compare", "parse_floor", "register_table"),
    "mccpo.experiments.benchmark": ("measure", "write_agent_rows"),
    "mccpo.datasets": ("PublicDataset", "gallery", "get", "names", "prepare", "read"),
    "mccpo.report.curriculum": ("curriculum_page",),
    "mccpo.env.tutor": ("fractions_curriculum", "profile_curriculum"),
    "mccpo.client": ("AsyncClient", "Client"),
}
"""By package. Each name has an example that runs: in its docstring, or on a page that the tests follow."""
