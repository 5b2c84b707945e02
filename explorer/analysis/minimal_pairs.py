"""Ready pairs of sentences that differ in one thing, and what each sentence should make likelier."""

from dataclasses import dataclass
from typing import Literal, get_args

Point = Literal["agreement", "coreference", "negation", "sense", "order", "particle"]
POINTS: tuple[Point, ...] = get_args(Point)


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences, and for each an answer of which the first token should be likelier there than in the other.

    A decoder is asked at the end, an encoder at [MASK]. A translator is asked nothing: its translations are compared.
    """

    point: Point
    left: str
    right: str
    answers: tuple[str, str] | None = None


PAIRS: dict[str, dict[str, tuple[MinimalPair, ...]]] = {  # architecture, language of the sentences
    "decoder": {
        "en": (
            MinimalPair("agreement", "Mom said that the toys", "Mom said that the toy", (" were", " was")),
            MinimalPair("coreference", "The girl was happy because", "The boy was happy because", (" she", " he")),
            MinimalPair(
                "negation",
                "Tom could find his toy. He was very",
                "Tom could not find his toy. He was very",
                (" happy", " sad"),
            ),
            MinimalPair("sense", "The girl was kind", "It was a kind", (" to", " of")),
            MinimalPair("order", "The dog saw the cat. The", "The cat saw the dog. The", (" cat", " dog")),
        ),
        "ko": (
            MinimalPair("particle", "나는 밥을", "나는 밥이", (" 먹", " 있어요")),
            MinimalPair("agreement", "어제는 비가", "내일은 비가", (" 왔어요", " 올")),
            MinimalPair(
                "coreference", "소녀가 집에 왔어요. 그리고", "소년이 집에 왔어요. 그리고", (" 그녀는", " 그는")
            ),
            MinimalPair("negation", "나는 학교에 가고", "나는 학교에 가지", (" 있어요", " 않")),
            MinimalPair("sense", "부엌에서 배를", "바다에서 배를", (" 깎", " 타")),
            MinimalPair("order", "고양이가 개를 봤어요. 그러자", "개가 고양이를 봤어요. 그러자", (" 개", " 고양")),
        ),
    },
    "encoder": {
        "en": (
            MinimalPair("agreement", "The toys [MASK] in the box.", "The toy [MASK] in the box.", (" were", " was")),
            MinimalPair(
                "coreference",
                "The girl was happy because [MASK] had a new ball.",
                "The boy was happy because [MASK] had a new ball.",
                (" she", " he"),
            ),
            MinimalPair(
                "negation",
                "Tom could find his toy. He was very [MASK].",
                "Tom could not find his toy. He was very [MASK].",
                (" happy", " sad"),
            ),
            MinimalPair(
                "sense", "The [MASK] had a very loud bark.", "The [MASK] had a very brown bark.", (" dog", " tree")
            ),
            MinimalPair(
                "order",
                "The dog chased the cat. The [MASK] ran away.",
                "The cat chased the dog. The [MASK] ran away.",
                (" cat", " dog"),
            ),
        ),
        "ko": (
            MinimalPair("particle", "나는 밥[MASK] 먹었어요.", "나는 밥[MASK] 있어요.", ("을", "이")),
            MinimalPair("agreement", "어제는 비가 [MASK].", "내일은 비가 [MASK].", (" 왔어요", " 와요")),
            MinimalPair(
                "coreference",
                "소녀가 집에 왔어요. [MASK] 행복했어요.",
                "소년이 집에 왔어요. [MASK] 행복했어요.",
                (" 그녀는", " 그는"),
            ),
            MinimalPair("negation", "나는 학교에 가[MASK] 있어요.", "나는 학교에 가[MASK] 않아요.", ("고", "지")),
            MinimalPair("sense", "부엌에서 배를 [MASK]지 마세요.", "바다에서 배를 [MASK]지 마세요.", (" 깎", " 타")),
            MinimalPair("order", "고양이가 개[MASK] 보았어요.", "개[MASK] 고양이를 보았어요.", ("를", "가")),
        ),
    },
    "encoder-decoder": {
        "en": (
            MinimalPair("agreement", "The dog is in the kitchen.", "The dogs are in the kitchen."),
            MinimalPair("coreference", "The boy is sad because he is tired.", "The boy is sad because she is tired."),
            MinimalPair("negation", "I bought the red car.", "I did not buy the red car."),
            MinimalPair("sense", "She wears a hat.", "She wears shoes."),
            MinimalPair("order", "The dog sees the cat.", "The cat sees the dog."),
            MinimalPair("particle", "The child is in the kitchen.", "The child is sleeping in the kitchen."),
        ),
    },
}
