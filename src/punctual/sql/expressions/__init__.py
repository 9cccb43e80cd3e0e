"""Expressions of a program: which columns and functions they name, and what they mean as values of the plan."""
