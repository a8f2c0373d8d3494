"""What a learner knows: mastery models, response models, and answers as arrays. It needs NumPy alone.

Fitting is in `mccpo.mastery.fitting`, which needs jax; answers from the canonical table of logs are in
`mccpo.mastery.tables`, which needs polars.

>>> import numpy as np
>>> model = BKT(*np.array([[0.4], [0.1], [0.2], [0.1]]), concepts=())
>>> state = model.update(0, model.init(0), correct=True)
>>> round(float(model.predict(0, state).correct), 4)
0.7425
"""

from mccpo.mastery.best_lr import BestLR
from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.elo import Abilities, Elo
from mccpo.mastery.ema import EMA
from mccpo.mastery.history import FAST, SLOW, History
from mccpo.mastery.model import MasteryModel, Prediction, codes, with_unseen
from mccpo.mastery.model_files import (
    MASTERY_MODELS,
    MODELS,
    RESPONSE_MODELS,
    model_from_json,
    model_name,
    model_to_json,
    read_model,
    write_model,
)
from mccpo.mastery.pfa import PFA, Practice
from mccpo.mastery.recurrent import Recurrent, gated
from mccpo.mastery.response_model import NO_CLOCK, ResponseModel, Weights
from mccpo.mastery.responses import Responses, Sequences, elapsed, sequences, split_learners, within

__all__ = [
    "BKT",
    "EMA",
    "FAST",
    "MASTERY_MODELS",
    "MODELS",
    "NO_CLOCK",
    "PFA",
    "RESPONSE_MODELS",
    "SLOW",
    "Abilities",
    "BKTForget",
    "BestLR",
    "Elo",
    "History",
    "MasteryModel",
    "Practice",
    "Prediction",
    "Recurrent",
    "ResponseModel",
    "Responses",
    "Sequences",
    "Weights",
    "codes",
    "elapsed",
    "gated",
    "model_from_json",
    "model_name",
    "model_to_json",
    "read_model",
    "sequences",
    "split_learners",
    "with_unseen",
    "within",
    "write_model",
]
