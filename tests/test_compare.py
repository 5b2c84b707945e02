"""Two passes side by side: the alignment, the differences and the verdicts, against what is counted by hand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer import checkpoints
from explorer.analysis import compare
from explorer.analysis.minimal_pairs import PAIRS, POINTS
from explorer.config import MASK
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, LEARNT, model, named, texts

ids = st.lists(st.integers(0, 6), min_size=1, max_size=24)


def test_align_pairs_equal_tokens_and_those_in_their_place():
    found = compare.align([1, 5, 6, 7, 8], [1, 5, 9, 7, 8])
    assert found.pairs == ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4)) and (found.equal, found.replaced) == (4, 1)
    longer = compare.align([1, 5, 7, 8], [1, 5, 9, 9, 7, 8])
    assert longer.pairs == ((0, 0), (1, 1), (2, 4), (3, 5)) and longer.replaced == 0
    assert longer.right_of(2) == 4 and longer.left_of(2) is None and longer.right_of(3) == 5
    assert not compare.align([1, 2, 3, 4], [1, 5, 6, 7]).enough, "Texts that share one token are not paired."
    assert compare.align([1], [1]).enough and compare.align([1, 2], [1, 2]).same


@settings(deadline=None)
@given(ids, ids)
def test_an_alignment_is_in_order_and_pairs_each_once(left, right):
    found = compare.align(left, right)
    assert all(a < c and b < d for (a, b), (c, d) in zip(found.pairs, found.pairs[1:], strict=False))
    assert found.equal == sum(left[a] == right[b] for a, b in found.pairs)
    assert compare.align(left, left).same
    for a, b in found.pairs:
        assert found.right_of(a) == b and found.left_of(b) == a


def test_difference_takes_what_stands_for_each_other():
    left, right = torch.arange(9.0).view(3, 3), 10 * torch.arange(16.0).view(4, 4)
    rows = compare.align([1, 2, 3], [1, 9, 2, 3])
    found = compare.difference(left, right, rows, rows)
    for i, (a, b) in enumerate(rows.pairs):
        for j, (c, d) in enumerate(rows.pairs):
            assert found[i, j] == right[b, d] - left[a, c]
    assert compare.difference(left, left, compare.align([1, 2, 3], [1, 2, 3])).abs().max() == 0


def test_moved_is_the_share_that_lies_elsewhere():
    one, other = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.5, 0.25])
    assert compare.total_variation(one, other) == 0.25
    assert compare.total_variation(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])) == 1
    rows = compare.align([1, 2], [1, 2])
    both = compare.total_variation_rows(torch.stack([one, other]), torch.stack([other, other]), rows)
    assert both == [0.25, 0]
    assert compare.candidates(one, other, 1) == [0, 1]


@pytest.mark.parametrize("config", GRID[::2], ids=named)
def test_furthest_is_the_head_that_differs_most(config):
    made, (source, target) = model(config), texts(config, padding=0)
    changed = [None if ids is None else ids.clone() for ids in (source, target)]
    for ids_ in changed:
        if ids_ is not None:
            ids_[1] = ids_[1] % 30 + 5
    one, other = trace(made, source, target), trace(made, *changed)
    stack = config.stacks[-1]
    read = (one, other)
    columns = compare.align(*(side[f"{stack}.embedding.ids"].tensor.tolist() for side in read))
    assert len(columns.pairs) == columns.left
    found = compare.furthest(one, other, f"{stack}.*.self_attention", columns, (2, 2))
    paths = [f"{stack}.layers.{layer}.self_attention.weights" for layer in range(config.layers)]
    shares = {
        (layer, head): compare.total_variation(*(side[path].tensor[head, 2] for side in read))
        for layer, path in enumerate(paths)
        for head in range(config.heads)
    }
    assert found.share == pytest.approx(max(shares.values())) and found.share > 0
    assert shares[found.layer, found.head] == pytest.approx(found.share)


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ((0.6, 0.1), (0.1, 0.6), "apart"),
        ((0.6, 0.1), (0.4, 0.3), "leans"),
        ((0.6, 0.1), (0.5, 0.1), "blind"),
        ((0.1, 0.6), (0.6, 0.1), "wrong"),
    ],
)
def test_a_verdict_follows_the_odds(left, right, expected):
    found, factor = compare.verdict(left, right)
    assert found == expected
    assert factor == pytest.approx(left[0] * right[1] / (left[1] * right[0]))


# The ready pairs


READ = Tokenizer.load(checkpoints.TOKENIZER)
ALL = [(kind, pair) for kind, languages in PAIRS.items() for pairs in languages.values() for pair in pairs]


@pytest.mark.parametrize("kind, pair", ALL, ids=lambda one: one if isinstance(one, str) else one.point)
def test_a_pair_differs_and_asks_for_two_tokens(kind, pair):
    assert pair.left != pair.right and pair.point in POINTS
    assert (pair.answers is None) == (kind == "encoder-decoder")
    if pair.answers:
        first, second = (READ.encode(answer)[0].id for answer in pair.answers)
        assert first != second
    for text in (pair.left, pair.right):
        assert ([token.id for token in READ.encode(text)].count(MASK) == 1) == (kind == "encoder")


def test_every_point_is_there_in_both_languages():
    for languages in PAIRS.values():
        points = [{pair.point for pair in pairs} for pairs in languages.values()]
        assert set.union(*points) == set(POINTS)
    assert all(set(PAIRS[kind]) == {"en", "ko"} for kind in ("encoder", "decoder"))


SHOWN = (("en", "agreement"), ("en", "coreference"), ("ko", "particle"), ("ko", "negation"))


@pytest.mark.parametrize("name", [name for name in LEARNT if name.startswith("decoder") and name.endswith("-4")])
@pytest.mark.parametrize("language, point", SHOWN)
def test_what_decoders_learnt_of_the_pairs(name, language, point):
    (pair,) = [pair for pair in PAIRS["decoder"][language] if pair.point == point]
    made, answers = checkpoints.load(name), [READ.encode(answer)[0].id for answer in pair.answers]
    found = []
    for text in (pair.left, pair.right):
        read = torch.tensor([token.id for token in READ.decoder_input(text)])
        with torch.inference_mode():
            found.append(tuple(made(None, read)[-1, answers].tolist()))
    assert compare.verdict(*found)[0] == "apart"
