"""What gives way when there is more to do than time: a file for each policy, and what they have in common."""
