"""One word for another: whole words of a text, words that fit, and what a swap moves by whole words."""

import math

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import rules, swaps
from explorer.analysis.attention import attentions
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import KINDS, READERS, recorded
from tests.test_rules import FIRST, small

TOKENIZER = Tokenizer.load(checkpoints.TOKENIZER)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Lily went to Paris.", ["Lily", "went", "to", "Paris", "."]),
        ("나는 어제 박물관에서 놀았다!", ["나는", "어제", "박물관에서", "놀았다", "!"]),
        ("don't  say [MASK], 漢字", ["don't", "", "say", "[MASK]", ",", "漢字"]),
        ("뷁 a\nb", ["뷁", "a", "b"]),
        ("", []),
    ],
)
def test_whole_words(text, words):
    tokens = TOKENIZER.encoder_input(text)
    found = swaps.whole_words(tokens)
    assert [place for word in found for place in word.places] == list(range(len(tokens)))
    assert [word.text for word in found[1:-1]] == words
    assert found[0].special and found[-1].special
    for word in found[1:-1]:
        assert text[word.start : word.end] == word.text


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_one_piece_are_tokens(kind):
    seen = recorded(small(*kind))
    for path in attentions(seen):
        for rung in rules.ladder(seen, path):
            assert torch.equal(swaps.by_parts(seen, path, rung.rule, swaps.alone(seen, path)), rung.weights)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_words_share_out_all_attention_under_the_mask(kind):
    seen = recorded(small(*kind))
    for path in attentions(seen):
        if path.endswith("cross_attention"):
            continue
        length = seen[f"{path}.weights"].tensor.shape[-1]
        words = [(0,), (1, 2), tuple(range(3, length))]
        allowed = swaps.allowed(seen, path, (words, words))
        for rule in rules.RULES:
            found = swaps.by_parts(seen, path, rule, (words, words))
            assert torch.allclose(found.sum(-1), torch.ones(()).double())
            if rule != "learned":
                assert (found * ~allowed).count_nonzero() == 0
    causal = recorded(small())
    words = [(0, 1), (2, 3, 4)]
    assert swaps.allowed(causal, FIRST, (words, words)).tolist() == [[True, False], [True, True]]
    parts = [math.exp(-1), 1]
    found = swaps.by_parts(causal, FIRST, "distance", (words, words))
    assert found[0, 1].tolist() == pytest.approx([part / sum(parts) for part in parts])
    learned = causal[f"{FIRST}.weights"].tensor
    assert float(swaps.by_parts(causal, FIRST, "learned", (words, words))[1, 1, 0]) == pytest.approx(
        float(learned[1, 2:, :2].sum(-1).mean())
    )


@pytest.mark.parametrize("name", READERS)
def test_paris_for_a_museum_by_whole_words(name):
    """파리 has two pieces and 박물관 four: rules that read no word do not move at all, the learned weights do."""
    model = checkpoints.load(name)

    def read(text):
        tokens = TOKENIZER.encoder_input(text) if model.config.stacks[0] == "encoder" else TOKENIZER.decoder_input(text)
        ids = torch.tensor([token.id for token in tokens])
        found = [word.places for word in swaps.whole_words(tokens)]
        seen = trace(model, *((ids, None) if model.config.stacks[0] == "encoder" else (None, ids)))
        return seen, (found, found)

    (before, words), (after, others) = read("나는 어제 파리에서 놀았다."), read("나는 어제 박물관에서 놀았다.")
    path = f"{model.config.stacks[0]}.layers.1.self_attention"
    with pytest.raises(ValueError, match="as many pieces"):
        swaps.swapped(before, after, path)
    found = {swap.rule: swap for swap in swaps.swapped(before, after, path, words, others)}
    assert found["alike"].unmoved and found["distance"].unmoved
    assert not found["learned"].unmoved and found["learned"].others > 0.001
    longer, more = read("나는 어제 파리에서 친구와 놀았다.")
    with pytest.raises(ValueError, match="6 and 7 parts" if model.config.stacks[0] == "decoder" else "7 and 8 parts"):
        swaps.swapped(before, longer, path, words, more)


@pytest.mark.parametrize("name", READERS)
def test_scores_of_words_that_stayed_change_with_context_only_where_context_was_read(name):
    """Raw embeddings never change, and the first layer's queries and keys are made of single words: only later ones
    learn of the swap."""
    model = checkpoints.load(name)
    stack = model.config.stacks[0]

    def read(text):
        tokens = TOKENIZER.encoder_input(text) if stack == "encoder" else TOKENIZER.decoder_input(text)
        ids = torch.tensor([token.id for token in tokens])
        return trace(model, *((ids, None) if stack == "encoder" else (None, ids)))

    before, after = read("Lily went to Paris with her mom."), read("Lily went to museum with her mom.")
    first, *above = (
        swaps.between_kept(before, after, f"{stack}.layers.{layer}.self_attention")
        for layer in range(model.config.layers)
    )
    assert first == dict.fromkeys(rules.RULES, 0)
    assert all(moved["embeddings"] == 0 for moved in above)
    assert max(moved["learned"] for moved in above) > 0.001


def test_alternatives_have_as_many_pieces():
    def pieces(text):
        return [token.id for token in TOKENIZER.encode(text)]

    table = checkpoints.load(READERS[0]).embedding.detach()
    known = ("kitchen", "hospital", "park", "museum", "학교에", "garden", "dog")
    found = swaps.alternatives("Park", True, known, pieces, table)
    assert found and "Park" not in found
    assert all(len(pieces(f" {word}")) == len(pieces(" Park")) and word[0].isupper() for word in found)
    found = swaps.alternatives("park", True, known, pieces, table, count=2)
    assert set(found) <= {"kitchen", "garden", "dog"} and len(found) == 2
    assert swaps.alternatives("학교에", True, known, pieces, table) == []
