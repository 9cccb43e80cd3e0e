"""Programs that are measured from outside, each a process of its own that prints one JSON object."""
