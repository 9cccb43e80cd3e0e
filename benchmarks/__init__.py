"""What Punctual costs, measured: see ``README.md`` for the figures and how to read them."""
