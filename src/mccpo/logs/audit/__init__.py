"""What a log shows: how often right answers bring no gain of mastery, and for whom."""
