"""From text to the syntax tree: tokens, expressions, parsers, and the values that they make."""
