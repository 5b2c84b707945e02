"""Pictures of the page of residuals and norms: where the norm sits, sizes through depth, padding, gradients. Pure."""

from collections.abc import Sequence

from explorer.views import charts
from explorer.views.plot import Plot, columns
from explorer.words import Words

HEIGHT = 190


def decimal(figure: float) -> str:
    """Two decimals with a true minus; what rounds to nothing has no sign."""
    written = f"{abs(figure):.2f}"
    return f"−{written}" if figure < 0 and float(written) else written


def place(norm_first: bool, kind: str, words: Words) -> str:
    """Where the norm sits, as a line of the stream with its detour: HTML without any user text."""
    line = "position:absolute;background:currentColor;opacity:.55"
    box = (
        "position:absolute;box-sizing:border-box;height:24px;line-height:21px;text-align:center;font-size:12px;"
        "border:1.3px solid currentColor"
    )
    parts: list[str] = []

    def across(left: int, right: int, top: int, thick: int = 2) -> None:
        parts.append(f'<i style="{line};left:{left}px;width:{right - left}px;top:{top}px;height:{thick}px"></i>')

    def down(left: int) -> None:
        parts.append(f'<i style="{line};left:{left}px;width:1.5px;top:20px;height:42px"></i>')

    def named(left: int, width: int, top: int, text: str, radius: int) -> None:
        parts.append(
            f'<span style="{box};left:{left}px;width:{width}px;top:{top}px;border-radius:{radius}px">{text}</span>'
        )

    norm, sublayer = words("residuals.norm"), words(f"part.{kind}")
    plus = 286 if norm_first else 222
    across(0, plus - 10, 19)
    parts.append(f'<span style="{box};left:{plus - 10}px;width:22px;top:8px;border-radius:12px">+</span>')
    down(36)
    if norm_first:
        across(36, 58, 61)
        named(58, 72, 50, norm, 12)
        across(130, 150, 61)
        named(150, 112, 50, sublayer, 6)
        across(262, plus, 61)
        across(plus + 12, 338, 19)
    else:
        across(36, 70, 61)
        named(70, 112, 50, sublayer, 6)
        across(182, plus, 61)
        across(plus + 12, 250, 19)
        named(250, 72, 8, norm, 12)
        across(322, 338, 19)
    parts.append(f'<i style="{line};left:{plus}px;width:1.5px;top:32px;height:31px"></i>')
    said = words("residuals.place.pre" if norm_first else "residuals.place.post")
    return (
        f'<div role="img" aria-label="{said}" style="position:relative;height:80px;width:340px">{"".join(parts)}</div>'
    )


def sizes(found: dict[str, Sequence], words: Words) -> Plot:
    """The size of the stream through depth, a line for each norm order: `analysis.norms.sizes` by order.

    The horizontal axis counts sums; a norm on the stream stands half a step after the sum that it brings back. A
    last norm at the end of a stack is no part of the stream's depth, and has no place here.
    """
    rows = []
    for norm, stages in found.items():
        sums = 0
        for stage in stages:
            sums += stage.kind != "embedding" and not stage.normed
            where = words("residuals.entrance")
            if stage.layer is not None:
                where = f"{words('layer.of', n=stage.layer)}, {words(f'part.{stage.kind}')}"
                where += f", {words('residuals.norm')}" if stage.normed else ""
            rows.append((sums + 0.5 * stage.normed, float(stage.rms.mean()), words(f"norm.{norm}"), where))
    axis, place = words("residuals.sums"), words("residuals.where")
    table = columns((axis, "size", "norm", place), rows)
    return charts.curves(table, axis, "size", "norm", label=place, width=460, height=HEIGHT)


def moved(rows: Sequence, at: int, words: Words) -> Plot:
    """How far padding moves one token under both norms: `analysis.norms.padded`."""
    axis = words("residuals.padding")
    found = [
        (row.padding, float(by[at]), words(f"residuals.{norm}"))
        for norm in ("batch", "layer")
        for row in rows
        for by in (row.moved_by_batch if norm == "batch" else row.moved_by_layer,)
    ]
    table = columns((axis, "moved", "norm"), found)
    return charts.curves(table, axis, "moved", "norm", width=300, height=HEIGHT)


def gradients(rows: Sequence, words: Words) -> Plot:
    """The sizes of a sublayer's gradients over its layers, a line for each norm order, in thousandths."""
    axis = words("layer")
    found = [(row.layer, 1000 * row.rms, words(f"norm.{row.norm}")) for row in rows]
    table = columns((axis, "gradient", "norm"), found)
    return charts.curves(table, axis, "gradient", "norm", width=460, height=HEIGHT)
