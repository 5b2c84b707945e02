"""Numbers as they stand in a sentence, with a true minus."""

import math


def number(value: float, digits: int = 4) -> str:
    """A number with its significant digits: −1.672, 0, 4.167e−5, −∞."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or (float(value).is_integer() and abs(value) < 10_000):
        return fixed(value, 0)
    written = f"{value:#.{digits}g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.{digits - 1}e}"
    mantissa, e, exponent = written.partition("e")
    return (mantissa.removesuffix(".") + (f"e{int(exponent)}" if e else "")).replace("-", "−")


def fixed(value: float, decimals: int, *, signed: bool = False) -> str:
    """A number with so many decimals: −0.30; `signed` for a difference, which has a plus as well: +0.30."""
    return f"{value:{'+' if signed else ''}.{decimals}f}".replace("-", "−")


def percent(share: float) -> str:
    """A probability in per cent, with one decimal under ten; never a nought that is none, or a whole that is less."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.995 <= share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"
