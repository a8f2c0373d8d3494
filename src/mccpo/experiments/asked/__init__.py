"""What users ask for: floors as numbers and in words, budgets in a teacher's words."""
