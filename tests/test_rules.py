"""The ladder of rules: their weights, what a swapped word does to them, and what they do installed."""

import math

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import attention, rules, swaps
from explorer.analysis.edits import install
from explorer.changes import Change
from explorer.config import BOS, Config
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import KINDS, READERS, model, recorded


def small(architecture="decoder", norm="pre"):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


FIRST = "decoder.layers.0.self_attention"


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_shares_out_all_attention_under_the_mask(kind):
    seen = recorded(small(*kind))
    for path in attention.attentions(seen):
        for rung in rules.ladder(seen, path):
            allowed = seen[f"{path}.allowed"].tensor
            assert torch.allclose(rung.weights.sum(-1), torch.ones(()).double())
            assert (rung.weights * ~allowed).count_nonzero() == 0
            assert rung.itself is None if path.endswith("cross_attention") else 0 <= rung.itself <= 1


def test_the_rules_by_hand():
    seen = recorded(small())
    assert rules.weights(seen, FIRST, "alike")[2].tolist() == pytest.approx([1 / 3] * 3 + [0, 0])
    parts = [math.exp(-2), math.exp(-1), 1]
    assert rules.weights(seen, FIRST, "distance")[2].tolist() == pytest.approx([p / sum(parts) for p in parts] + [0, 0])
    scaled = seen["decoder.embedding.scaled"].tensor
    expected = torch.stack([scaled[4] @ scaled[j] / 4 for j in range(5)]).softmax(-1)
    assert torch.allclose(rules.weights(seen, FIRST, "embeddings")[4], expected)
    assert torch.equal(rules.weights(seen, FIRST, "learned"), seen[f"{FIRST}.weights"].tensor)
    with pytest.raises(ValueError, match="no rule 'fair'; choose one of alike, distance, embeddings, learned"):
        rules.weights(seen, FIRST, "fair")


def test_swapping_a_word_moves_only_what_reads_words():
    small_model = model(small())
    before = trace(small_model, None, torch.tensor([1, 9, 5, 30, 7]))
    after = trace(small_model, None, torch.tensor([1, 9, 22, 30, 7]))
    found = {swap.rule: swap for swap in swaps.swapped(before, after, "decoder.layers.1.self_attention")}
    assert found["alike"].unmoved and found["distance"].unmoved
    assert found["embeddings"].others > 0.001 and found["learned"].others > 0.001
    assert found["learned"].moved[:, :2].count_nonzero() == 0, "a decoder's earlier words do not see the swap"
    longer = trace(small_model, None, torch.tensor([1, 9, 5, 30, 7, 7]))
    with pytest.raises(ValueError, match="5 and 6 parts"):
        swaps.swapped(before, longer, FIRST)


def test_look_alikes_are_found_by_embedding():
    small_model = model(small())
    seen = trace(small_model, None, torch.tensor([1, 9, 5, 9, 7]))
    rungs = {rung.rule: rung for rung in rules.ladder(seen, FIRST)}
    table = small_model.embedding.detach()
    cosine = torch.nn.functional.cosine_similarity(table[[1, 9, 5, 9, 7], None], table[None, [1, 9, 5, 9, 7]], dim=-1)
    pairs = [(i, j) for i in range(5) for j in range(i) if cosine[i, j] >= rules.LOOK_ALIKE]
    assert (3, 1) in pairs
    queries = {i for i, _ in pairs}
    expected = sum(1 / (i + 1) for i, _ in pairs) / len(queries)
    assert rungs["alike"].look_alikes == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_installed_is_what_the_model_goes_on_with(kind):
    config = small(*kind)
    plain = recorded(config)
    for path in attention.attentions(plain):
        stack, _, layer, sublayer = path.split(".")
        ruled = recorded(config, edits=install([Change("distance", stack, int(layer), sublayer, head=1)], config))
        assert torch.equal(ruled[f"{path}.weights"].tensor[1], rules.weights(ruled, path, "distance"))
        assert torch.equal(ruled[f"{path}.weights"].tensor[0], plain[f"{path}.weights"].tensor[0])
        assert not torch.equal(ruled["logits"].tensor, plain["logits"].tensor)


@pytest.mark.parametrize("name", READERS)
def test_raw_embeddings_of_the_models_that_ship_look_mostly_at_themselves(name):
    shipped, tokenizer = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    stack = shipped.config.stacks[0]

    def read(text):
        ids = torch.tensor([BOS, *(token.id for token in tokenizer.encode(text))])
        return trace(shipped, *((ids, None) if stack == "encoder" else (None, ids)))

    before, after = read("The girl is playing in the park."), read("The girl is playing in the kitchen.")
    path = f"{stack}.layers.1.self_attention"
    rungs = {rung.rule: rung for rung in rules.ladder(before, path)}
    assert rungs["embeddings"].itself > 0.5
    assert rungs["embeddings"].itself > rungs["learned"].itself
    found = {swap.rule: swap for swap in swaps.swapped(before, after, path)}
    assert found["alike"].unmoved and found["distance"].unmoved
    assert not found["learned"].unmoved
