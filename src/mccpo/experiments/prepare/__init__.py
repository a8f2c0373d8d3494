"""From logs and a prerequisite graph to an environment to train in, and another one to judge by."""
