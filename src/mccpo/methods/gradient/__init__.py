"""Policies learnt by gradient: the network, the rollout, advantages, clipped updates, selection of the result."""
