"""The flags of `mccpo serve`: what it is told of the policy, and of the record."""
