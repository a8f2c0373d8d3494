"""Environments with so few states that they can be solved exactly."""
