"""What a model writes: greedily, by chance, and by looking for a likely text."""

import itertools

import pytest
import torch

from explorer.analysis import generation
from explorer.analysis.generation import Settings
from explorer.config import BOS, EOS, Config
from tests.small import model, texts


def small(architecture="encoder-decoder", norm="pre", vocabulary=40):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=vocabulary)


SOURCE = texts(small(), padding=0)[0]


def written(steps):
    steps = list(steps)
    return tuple(id for id in steps[-1].ids[1:] if id != EOS), steps


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("temperature", [0, 1e-40, 1e-310])
def test_temperature_to_zero_is_greedy(seed, temperature):
    made = model(small(), seed)
    plain = generation.greedy(made, SOURCE, 12)
    ids, steps = written(generation.write(made, SOURCE, [BOS], Settings(temperature, seed=seed), limit=12))
    assert ids == plain.ids
    assert (steps[-1].stop == "end") == plain.finished
    assert all(step.rank == 1 and step.chosen.chance == 1 for step in steps)


@pytest.mark.parametrize("architecture", ["decoder", "encoder-decoder"])
def test_the_same_seed_and_settings_repeat(architecture):
    config = small(architecture)
    source, made = (None if architecture == "decoder" else SOURCE), model(config)
    runs = [
        list(generation.write(made, source, [BOS, 9], Settings(1.5, 20, 0.9, seed), limit=10)) for seed in (1, 1, 2, 3)
    ]
    assert runs[0] == runs[1]
    assert len({run[-1].ids for run in runs}) > 1


def test_a_run_that_is_rewound_writes_the_same_and_can_branch():
    made, settings = model(small("decoder")), Settings(2.0, seed=5)
    whole = list(generation.write(made, None, [BOS], settings, limit=8))
    assert len(whole) > 4
    again = list(generation.write(made, None, whole[2].ids, settings, limit=len(whole) - 3))
    assert [step.ids for step in again] == [step.ids for step in whole[3:]]
    other = 7 if whole[2].ids[-1] != 7 else 8
    branch = next(generation.write(made, None, (*whole[1].ids, other), settings))
    assert branch.ids[:-1] == (*whole[1].ids, other) and branch.draw == whole[3].draw


def test_a_token_chosen_by_hand_takes_the_place_of_the_drawn_one():
    made, settings = model(small("decoder")), Settings(1.5, seed=3)
    drawn = generation.step(made, None, (BOS, 9), settings)
    other = next(one for one in drawn.candidates if one.id != drawn.chosen.id)
    chosen = generation.step(made, None, (BOS, 9), settings, chosen=other.id)
    assert chosen.ids == (BOS, 9, other.id) and chosen.chosen == other
    assert chosen.candidates == drawn.candidates and chosen.candidates[chosen.rank - 1] == other
    with pytest.raises(ValueError, match="no token 40"):
        generation.step(made, None, (BOS, 9), settings, chosen=40)


@pytest.mark.parametrize("temperature", [0, 1e-3, 1.0])
def test_candidates_are_the_likeliest_whatever_the_settings(temperature):
    made = model(small("decoder"))
    found = generation.step(made, None, (BOS, 9), Settings(temperature, k=1))
    with torch.inference_mode():
        probabilities = made(None, torch.tensor([BOS, 9]))[-1].double()
    best = probabilities.topk(10)
    assert [one.id for one in found.candidates] == best.indices.tolist()
    assert [one.probability for one in found.candidates] == pytest.approx(best.values.tolist())


def test_a_loop_that_ends_is_still_named():
    made = model(small("decoder"))
    found = generation.step(made, None, (BOS, *[7, 8] * 4), Settings(0), chosen=EOS)
    assert found.stop == "end" and found.loop == generation.Loop(2, 4)


def test_only_what_the_filters_keep_is_written_and_all_of_it_can_be():
    made = model(small("decoder"))
    drawn = set()
    for seed in range(60):
        step = next(generation.write(made, None, [BOS], Settings(3.0, k=3, seed=seed)))
        drawn.add(step.chosen.id)
        assert step.rank <= 3 and step.candidates[step.rank - 1] == step.chosen
        assert [c.chance > 0 for c in step.candidates] == [True] * 3 + [False] * 7
        assert sum(c.chance for c in step.candidates) == pytest.approx(1)
    assert len(drawn) == 3
    tight = next(generation.write(made, None, [BOS], Settings(1.0, p=1e-9, seed=3)))
    assert tight.rank == 1 and tight.chosen.chance == 1


def test_chances_follow_the_draw():
    logits = torch.tensor([0.1, 0.6, 0.3]).log()
    chances = generation.distribution(logits, Settings())
    assert chances.order.tolist() == [1, 2, 0]
    places = [generation._place(chances, draw) for draw in (0, 0.59, 0.61, 0.89, 0.91, 1 - 1e-17)]
    assert places == [0, 0, 1, 1, 2, 2]
    hot = generation.distribution(logits, Settings(1e300))
    assert hot.shares.tolist() == pytest.approx([1 / 3] * 3)


def test_the_models_own_probability_stands_beside_the_chance():
    made = model(small("decoder"))
    step = next(generation.write(made, None, [BOS, 9], Settings(0.5, k=5)))
    with torch.inference_mode():
        probabilities = made(None, torch.tensor([BOS, 9]))[-1]
    for candidate in step.candidates:
        assert candidate.probability == pytest.approx(float(probabilities[candidate.id]))
    assert step.candidates[0].chance > step.candidates[0].probability


def test_stop_reasons():
    made = model(small("decoder"))
    assert [step.stop for step in generation.write(made, None, [BOS], Settings(0), limit=3)][-1] in ("limit", "end")
    with torch.no_grad():
        made.embedding[EOS] = 50 * made.decoder.norm.bias
    steps = list(generation.write(made, None, [BOS], Settings(0), limit=5))
    assert [step.stop for step in steps] == ["end"] and steps[0].ids == (BOS, EOS)
    with torch.no_grad():
        made.embedding[7] = 90 * made.decoder.norm.bias
    steps = list(generation.write(made, None, [BOS], Settings(0), limit=7))
    assert [step.stop for step in steps] == [None] * 6 + ["limit"]
    assert [step.loop for step in steps] == [None] * 5 + [generation.Loop(1, 6), generation.Loop(1, 7)]


def test_loops_are_named():
    assert generation.loop([5, 1, 2, 3, 1, 2, 3, 1, 2, 3]) == generation.Loop(3, 3)
    assert generation.loop([1, 2, 1, 2, 1, 2, 1, 2]) == generation.Loop(2, 4)
    assert generation.loop([7] * 6) == generation.Loop(1, 6)
    for text in ([], [7], [7] * 5, [1, 2, 1, 2], [1, 2, 3, 1, 2, 3], [1, 2, 1, 2, 1, 2, 9]):
        assert generation.loop(text) is None


def test_settings_and_models_that_cannot_write_are_refused():
    for settings, message in (
        ({"temperature": -1}, "The temperature is -1"),
        ({"temperature": float("nan")}, "The temperature is nan"),
        ({"k": -1}, "k is -1"),
        ({"p": 0}, "p is 0"),
        ({"p": 1.5}, "p is 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            Settings(**settings)
    encoder = model(small("encoder"))
    with pytest.raises(ValueError, match="encoder-pre-2 fills masks in and writes no text"):
        next(generation.write(encoder, SOURCE, [BOS]))
    with pytest.raises(ValueError, match="encoder-pre-2 fills masks in"):
        next(generation.beam(encoder, SOURCE))
    with pytest.raises(ValueError, match="start with .BOS. at least"):
        next(generation.write(model(small("decoder")), None, []))
    with pytest.raises(ValueError, match="The width is 0"):
        next(generation.beam(model(small()), SOURCE, width=0))
    with pytest.raises(ValueError, match="decoder-pre-2 does not translate"):
        generation.greedy(model(small("decoder")), SOURCE, 3)


# Beam search


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    made = model(small(), seed)
    plain = generation.greedy(made, SOURCE, 9)
    *_, last = generation.beam(made, SOURCE, width=1, limit=9)
    assert last.ids(last.ends[0]) == plain.ids
    assert (last.stop == "end") == plain.finished


def test_a_wide_beam_finds_the_likeliest_text_of_all():
    """Few enough texts to try every one: the beam keeps all of them."""
    made, source = model(small(vocabulary=6)), torch.tensor([BOS, 4, 5, EOS])
    *_, last = generation.beam(made, source, width=6**3, limit=3)

    def total(ids):
        with torch.inference_mode():
            probabilities = made(source, torch.tensor([BOS, *ids[:-1]]))
        return float(sum(probabilities[place, id].log() for place, id in enumerate(ids)))

    whole = [ids for ids in itertools.product(range(6), repeat=3) if EOS not in ids[:-1]]
    ended = [(EOS,), *((id, EOS) for id in range(6) if id != EOS), *(ids for ids in whole if ids[-1] == EOS)]
    best = max(ended, key=lambda ids: total(ids) / len(ids))
    assert last.ids(last.ends[0]) == tuple(id for id in best if id != EOS)
    assert last.ends[0].total == pytest.approx(total(best))
    assert len(last.ends) == len(ended) + sum(ids[-1] != EOS for ids in whole)
    assert last.stop == "limit"


def test_the_tree_holds_what_was_passed_over():
    *steps, last = generation.beam(model(small()), SOURCE, width=3, limit=5)
    assert [node.number for node in last.nodes] == list(range(len(last.nodes)))
    for node in last.nodes:
        parent = None if node.parent is None else last.nodes[node.parent]
        assert node.depth == (1 if parent is None else parent.depth + 1)
        assert node.total == pytest.approx(node.log_probability + (parent.total if parent else 0))
        assert parent is None or (parent.kept and not parent.finished)
    for before, after in itertools.pairwise([*steps, last]):
        assert after.nodes[: len(before.nodes)] == before.nodes
    at_three = [node for node in last.nodes if node.depth == 3]
    kept = [node.total for node in at_three if node.kept]
    assert min(kept) >= max(node.total for node in at_three if not node.kept)
    assert len(last.ends) == 3


def test_a_decoder_goes_on_with_a_text():
    *_, last = generation.beam(model(small("decoder")), None, [BOS, 9, 5], width=2, limit=4)
    assert last.ends[0].depth <= 4 and len(last.ends) == 2
