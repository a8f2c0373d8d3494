"""Made-up logs: learners who learn, and what platforms would have written down of them."""
