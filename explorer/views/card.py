"""A model's card in words: what it was trained on, how well it does, how large it is. Markdown, pure."""

from collections.abc import Mapping

from explorer.views.tables import table
from explorer.words import Words, verbatim

MEASURES = ("loss", "top1", "exact", "chrf")  # the figures that a card may hold, in the order of the table


def training(words: Words, card: Mapping) -> str:
    """How and on what a model was trained, a list; or that it was not trained."""
    if not card.get("budget_tokens"):
        return words("card.untrained")
    said = words("card.training", objective=words(f"card.objective.{card['config']['architecture']}"),
                 n=card["budget_tokens"], minutes=max(1, round(card.get("seconds", 0) / 60)))  # fmt: skip
    sources = [f"- {verbatim(source['title'])} :gray[{verbatim(source['licence'])}]" for source in card["data"]]
    return "\n".join([said, "", *sources])


def figures(words: Words, card: Mapping) -> str:
    """The held-out figures as a table, one row a text; empty where a card has none."""
    held_out = card.get("held_out") or {}
    measures = [measure for measure in MEASURES if any(measure in row for row in held_out.values())]
    if not measures:
        return ""
    head = ["", *[words(f"card.{measure}") for measure in measures]]
    rows = [[words(f"card.text.{name}"), *[_figure(one, row) for one in measures]] for name, row in held_out.items()]
    return table(head, rows)


def _figure(measure: str, row: Mapping[str, float]) -> str:
    if measure not in row:
        return "–"
    number = row[measure]
    return {"loss": f"{number:.2f}", "chrf": f"{number:.1f}"}.get(measure, f"{100 * number:.1f} %")


def sizes(words: Words, counts: Mapping[str, int]) -> str:
    """How many parameters a model has, and how many of them each part."""
    total = sum(counts.values())
    lines = [f"| {words(f'card.part.{part}')} | {count:,} | {count / total:.0%} |" for part, count in counts.items()]
    return "\n".join([words("card.parameters", n=total), "", "| | | |", "|---|--:|--:|", *lines])
