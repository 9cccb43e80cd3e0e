"""The state of a program on disk: what survives a crash, and how."""
