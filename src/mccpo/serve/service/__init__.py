"""What a tutoring platform asks for, whatever the request came by."""
