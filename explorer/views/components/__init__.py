"""Pictures of our own, each a Python file, a script and a style sheet."""

from pathlib import Path


def source(*files: str) -> str:
    """Scripts or style sheets of this folder as one: what several of them share stands in front of their own."""
    return "".join((Path(__file__).parent / file).read_text(encoding="utf-8") for file in files)
