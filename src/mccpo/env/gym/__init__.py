"""Every environment as a Gymnasium environment, registered under `mccpo/…-v0`.

Gymnasium finds the names once this module is imported, or by naming it in the call:

>>> import gymnasium
>>> env = gymnasium.make("mccpo.env.gym:mccpo/Chain-v0", horizon=3)
>>> observation, info = env.reset(seed=0)
>>> info["action_mask"].tolist()
[1, 0, 0, 0, 0, 1]

`gymnasium.make_vec` gives many copies that one compiled call steps:

>>> envs = gymnasium.make_vec("mccpo.env.gym:mccpo/Chain-v0", num_envs=4)
>>> observations, infos = envs.reset(seed=0)
>>> infos["action_mask"].shape
(4, 6)

Environments that other packages add by entry points have ids, too; those that a program registers later have one
after another `register_ids()`. Needs the extra `gym`; `mccpo.env` itself does not import Gymnasium.
"""

from mccpo.env.gym.ids import build, build_vector, gym_id, register_ids
from mccpo.env.gym.safety import SafetyWrapper
from mccpo.env.gym.single import TutorEnv
from mccpo.env.gym.vector import TutorVectorEnv

__all__ = ["SafetyWrapper", "TutorEnv", "TutorVectorEnv", "build", "build_vector", "gym_id", "register_ids"]

register_ids()
