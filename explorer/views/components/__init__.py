"""Pictures of our own, each a Python file, a script and a style sheet."""
