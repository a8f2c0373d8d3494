"""What happens to learners as they are taught, and whether to all groups alike."""
