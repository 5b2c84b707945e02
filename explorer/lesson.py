"""The sentence at hand as training asks it of each architecture, on the model nearest to the one at hand."""

import math
from dataclasses import dataclass, replace

from explorer import passes, reader
from explorer.address import Choices, fingerprint
from explorer.analysis import lessons
from explorer.config import longest_translation
from explorer.passes import Ids, Pass
from explorer.view import View, blank, reading

TRUTHS = {  # the right translations of sentences that the page offers
    "The doctor is in the kitchen.": "의사는 부엌에 있어요.",
    "My brother plays the piano every day.": "제 남동생은 매일 피아노를 쳐요.",
    "A brave knight defeated the dragon.": "용감한 기사가 용을 물리쳤어요.",
    "The cat is small.": "고양이는 작아요.",
    "The boy did not eat the bread.": "소년은 빵을 먹지 않았어요.",
}
SECOND = ("The cat is small.", "The boy did not eat the bread.")  # a batch's other text, where the reader has none


@dataclass(frozen=True)
class Lesson:
    """One objective on the sentence at hand: what is asked, the pass that was asked, and the loss at each position.

    `own` says that no right translation is known and the model's own stands in its place.
    """

    kind: str
    name: str
    question: lessons.Question
    run: Pass
    losses: tuple[float | None, ...]
    own: bool = False

    @property
    def asked(self) -> int:
        """How many positions count."""
        return len(self.question.asked)

    @property
    def mean(self) -> float:
        """The mean loss. There is none where nothing is asked."""
        return math.fsum(loss for loss in self.losses if loss is not None) / self.asked

    @property
    def whole(self) -> Ids:
        """The text from [BOS] to the last token that is asked for."""
        last = self.question.targets[-1:]
        return (*self.question.inputs, *filter(None, last))

    def view(self, here: View) -> View:
        """The view of this pass, for what draws the numbers of a view."""
        spell, seen = passes.tokenizer().tokens, self.run.trace
        tokens = {name: tuple(spell(seen[f"{name}.embedding.ids"].tensor.tolist())) for name in self.run.config.stacks}
        layer, head = min(here.layer, self.run.config.layers - 1), min(here.head, self.run.config.heads - 1)
        return replace(here, run=self.run, tokens=tokens, layer=layer, head=head, focus=0)


def of(view: View, kind: str, draw: int) -> Lesson:
    """What training would ask of the sentence at hand in an architecture; `draw` is the seed of the masks."""
    chosen, own = view.choices, False
    name = nearest(chosen, kind)
    if kind == "decoder":
        question = lessons.next_token(reading(chosen.text, "decoder").ids)
        read: tuple[Ids, Ids] = ((), question.inputs)
    elif kind == "encoder":
        question = lessons.masked(reading(chosen.text, "encoder").ids, draw)
        read = (question.inputs, ())
    else:
        source, right = reading(chosen.text, "encoder").ids, truth(chosen)
        if right:
            question = lessons.translation(reading(right, "decoder").ids)
        else:
            said = passes.translation(name, source, longest_translation(len(source)))
            asked = lessons.translation if said.finished else lessons.next_token
            question, own = asked(passes.decoder_ids(said)), True
        read = (source, question.inputs)
    run = view.again(read, name)
    found = lessons.losses(run.trace["logits"].tensor, question.targets)
    return Lesson(kind, name, question, run, lessons.numbers(found), own)


def nearest(chosen: Choices, kind: str) -> str:
    """The model of an architecture whose norm order and heads are nearest to those at hand."""
    return reader.nearest(chosen, arch=kind).model


def truth(chosen: Choices) -> str:
    """The right translation, as far as one is known: the reader's, or that of a ready sentence; else nothing."""
    meant = chosen.architecture == "encoder-decoder" or chosen.written_for == fingerprint(chosen.text)
    if meant and not blank(chosen.target):
        return chosen.target
    return TRUTHS.get(chosen.text, "")


def pair(lesson: Lesson, chosen: Choices, draw: int) -> tuple[tuple[Ids, ...], tuple[lessons.Question, ...]]:
    """A batch of two: sources (none where there is one text) and questions, the lesson's and those of another text.

    The other is the reader's second sentence, or one whose right translation is known.
    """
    ready = next(text for text in SECOND if text != chosen.text)
    text = ready if blank(chosen.other) else chosen.other
    if lesson.kind == "decoder":
        return (), (lesson.question, lessons.next_token(reading(text, "decoder").ids))
    if lesson.kind == "encoder":
        return (), (lesson.question, lessons.masked(reading(text, "encoder").ids, draw))
    other = lessons.translation(reading(TRUTHS[ready], "decoder").ids)
    return (lesson.run.ids[0], reading(ready, "encoder").ids), (lesson.question, other)
