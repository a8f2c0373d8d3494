"""What is kept: the chain of events, the database, and the check of both."""
