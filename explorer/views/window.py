"""Which part of a long text is drawn."""


def around(middle: int, length: int, most: int) -> range:
    """The positions of a text of `length` to draw: all, or as many as fit around one of them."""
    first = max(0, min(middle - most // 2, length - most))
    return range(first, min(length, first + most))
