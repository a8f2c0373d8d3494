"""One policy for any curriculum: how it is trained, how prices are found at a problem, the file that keeps it."""

from mccpo.methods.pretrained.alone import PretrainedEngagement, policies_alone, prepare_alone
from mccpo.methods.pretrained.method import Pretrained, TunedMCCPO
from mccpo.methods.pretrained.pretraining import PretrainingPlan, pretrain
from mccpo.methods.pretrained.weights import CARD, pretrained_parameters, write_parameters

__all__ = [
    "CARD",
    "Pretrained",
    "PretrainedEngagement",
    "PretrainingPlan",
    "TunedMCCPO",
    "policies_alone",
    "prepare_alone",
    "pretrain",
    "pretrained_parameters",
    "write_parameters",
]
