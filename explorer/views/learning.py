"""What the trainings of the models wrote down: curves by tokens read, held-out figures, losses by position. Pure."""

from collections.abc import Mapping

from explorer.config import kind_of
from explorer.views import charts, tables
from explorer.views.plot import Plot, columns
from explorer.words import Words

WIDTH, HEIGHT = 400, 220
TEXTS = {  # the text on which losses by position are shown, and the measures that stand in the table, by column
    "encoder": ("tinystories", {"english": ("tinystories", "top1"), "grammar": ("grammar_ko", "top1"),
                                "spoken": ("spoken_korean", "top1")}),
    "decoder": ("tinystories", {"english": ("tinystories", "loss"), "grammar": ("grammar_ko", "loss"),
                                "spoken": ("spoken_korean", "loss")}),
    "encoder-decoder": ("grammar", {"translated": ("grammar", "exact"), "natural": ("tatoeba", "chrf")}),
}  # fmt: skip


def curves(cards: Mapping[str, Mapping], figure: str, words: Words) -> Plot:
    """What a training wrote down at each step, `loss` or `gradient_norm`, a line for each model by its label."""
    axis = words("learning.tokens")
    rows = [
        (tokens, value, label)
        for label, card in cards.items()
        for tokens, value in zip(card["curves"]["tokens"], card["curves"][figure], strict=True)
    ]
    table = columns((axis, "figure", "model"), rows)
    return charts.curves(table, axis, "figure", "model", width=WIDTH, height=HEIGHT)


def positions(cards: Mapping[str, Mapping], words: Words) -> Plot | None:
    """The loss on held-out text by position, a line for each model; None where no card has it."""
    axis = words("learning.position")
    rows = [
        (first, loss, label)
        for label, card in cards.items()
        for first, loss in card["held_out"].get(TEXTS[card["config"]["architecture"]][0], {}).get("by_position", ())
    ]
    if not rows:
        return None
    return charts.curves(columns((axis, "loss", "model"), rows), axis, "loss", "model", width=WIDTH, height=HEIGHT)


def table(architecture: str, cards: Mapping[str, Mapping | None], here: str, words: Words) -> str:
    """The held-out figures of an architecture's models in Markdown, a row for each; `here` is in bold, and a missing
    one says so.
    """
    measures = TEXTS[architecture][1]
    named = words(f"architecture.{architecture}")
    if any(measure == "loss" for _, measure in measures.values()):
        named = f"{named}, {words('learning.nats')}"
    head = [named, *(words(f"learning.column.{column}") for column in measures)]
    rows = []
    for name, card in cards.items():
        kind, norm, heads = kind_of(name)
        if kind == architecture:
            label = _unbroken(f"{words(f'learning.norm.{norm}')} · {words('learning.heads', n=heads)}")
            missing = [words("learning.missing"), *["–"] * (len(measures) - 1)]
            cells = [_figure(card, *measure) for measure in measures.values()] if card else missing
            rows.append([f"**{label}**" if name == here else label, *cells])
    return tables.table(head, rows)


def pairs(cards: Mapping[str, Mapping | None]) -> tuple[int, int]:
    """Of how many pairs that differ in the order of the norm alone the one with the norm first has the better first
    figure of the table, and how many pairs there are."""
    better = [
        _first(cards[name], cards[other]) is cards[name]
        for name, card in cards.items()
        if card and (other := name.replace("-pre-", "-post-")) != name and cards.get(other)
    ]
    return sum(better), len(better)


def best_heads(cards: Mapping[str, Mapping | None]) -> dict[tuple[str, str], int]:
    """The number of heads of the model with the best first figure, by architecture and order of the norm."""
    found: dict[tuple[str, str], Mapping] = {}
    for name, card in cards.items():
        architecture, norm, _ = kind_of(name)
        if card:
            found[architecture, norm] = _first(found.get((architecture, norm), card), card)
    return {kind: card["config"]["heads"] for kind, card in found.items()}


def _first(one: Mapping, other: Mapping) -> Mapping:
    """The card with the better first figure of its row; the first of two that are as good as each other."""
    text, measure = next(iter(TEXTS[one["config"]["architecture"]][1].values()))
    figure, its = (card["held_out"][text][measure] for card in (one, other))
    return other if (its < figure if measure == "loss" else its > figure) else one


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _figure(card: Mapping, text: str, measure: str) -> str:
    found = card["held_out"][text][measure]
    return _unbroken({"loss": f"{found:.2f}", "chrf": f"{found:.1f}"}.get(measure, f"{100 * found:.1f} %"))
