"""How `mccpo tutor` gets its policy where nothing else is asked for. This is the one place that says so."""

METHOD = "pretrained"
STEPS = 100_000
"""Of training, of the policy where its method is trained and of the anchors that floors and budgets refer to."""
RULES = ("random-ready", "mastery-learning", "zpdes", "greedy-gain")
"""What the policy is compared with, on the same curriculum."""
