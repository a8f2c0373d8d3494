"""`mccpo tutor`, and the tutor that `mccpo serve --graph` makes."""
