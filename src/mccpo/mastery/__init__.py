"""What a learner knows: mastery models. Fitting and what goes over many learners at once are in modules of their own,
because they need jax, which the models themselves do not.

>>> import numpy as np
>>> model = BKT(*np.array([[0.4], [0.1], [0.2], [0.1]]), concepts=())
>>> state = model.update(0, model.init(0), correct=True)
>>> round(float(model.predict(0, state).correct), 4)
0.7425
"""

from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.ema import EMA
from mccpo.mastery.files import MODELS, read, write
from mccpo.mastery.model import MasteryModel, Prediction, codes
from mccpo.mastery.pfa import PFA
from mccpo.mastery.responses import Responses, split_learners

__all__ = [
    "BKT",
    "EMA",
    "MODELS",
    "PFA",
    "BKTForget",
    "MasteryModel",
    "Prediction",
    "Responses",
    "codes",
    "read",
    "split_learners",
    "write",
]
