"""A text read with a key-value cache gives what a whole pass gives, and what the cache saves is counted right."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from explorer import checkpoints, glossary
from explorer.analysis import cache as caching
from explorer.analysis.cache import Cache, saved
from explorer.config import BOS
from explorer.tokens import Tokenizer
from explorer.trace import Trace, trace
from explorer.views import saving
from explorer.words import LANGUAGES, Words
from tests.small import GRID, model, named, texts

DECODERS = [config for config in GRID if "decoder" in config.stacks and config.activation == "gelu"]
SHIPPED = [name for name in checkpoints.available() if name.startswith(("decoder", "encoder-decoder"))]
EACH = pytest.mark.parametrize("config", DECODERS, ids=named)
EXACT = 1e-12  # float64, many additions


def rows(value, count):
    """The last rows of a value: of ids, of [position, ...], of [head, query, ...]."""
    return value[-count:] if value.dim() == 1 else value[..., -count:, :]


def read(made, source, target, sizes):
    """The text in pieces of these sizes, each recorded: the traces and all logits."""
    cache, traces, logits, at = Cache(made, source), [], [], 0
    for size in sizes:
        traces.append(Trace(made))
        found, cache = cache.read(target[at : at + size], traces[-1].record)
        logits.append(found)
        at += size
    assert at == len(target) and torch.equal(cache.ids, target)
    return traces, torch.cat(logits)


@EACH
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (3, 1, 1), (2, 3), (5,)])
def test_every_value_of_every_step_is_that_of_the_whole_pass(config, sizes):
    made, (source, target) = model(config), texts(config)
    traces, logits = read(made, source, target, sizes)
    whole = trace(made, source, target)
    torch.testing.assert_close(logits, whole["logits"].tensor, rtol=0, atol=EXACT)
    for number, size in enumerate(sizes):
        here, upto = traces[number], sum(sizes[: number + 1])
        so_far = trace(made, source, target[:upto])
        first = [path for path in so_far if number == 0 or path.startswith("decoder.") or "." not in path]
        assert list(here) == [path for path in so_far if path in first], "Only the first step reads the source."
        for path, value in here.items():
            assert value.axes == so_far[path].axes
            expected = so_far[path].tensor
            if path.endswith((".keys", ".values")) or path.startswith("encoder."):
                assert value.tensor.shape == expected.shape, path
            else:
                expected = rows(expected, size)
            assert value.tensor.shape == expected.shape, path
            torch.testing.assert_close(value.tensor, expected, rtol=0, atol=EXACT)


@EACH
def test_in_single_precision_both_ways_agree_to_five_digits(config):
    made, (source, target) = model(config, dtype=torch.float32), texts(config)
    found = saved(made, source, target)
    assert found.ok and found.probability <= 1e-5 and found.difference <= 1e-5


def read_by(name):
    """Ids for a model that ships: sentences of its own kind, longer than most texts."""
    tokenizer = Tokenizer.load(checkpoints.TOKENIZER)
    source, target = (
        None,
        "Once upon a time, there was a little girl. She had a red ball, and she went to the park. " * 3,
    )
    if name.startswith("encoder-decoder"):
        english = tokenizer.encoder_input("The child who found the book is happy.")
        source, target = torch.tensor([token.id for token in english]), "책을 찾은 아이는 행복합니다. " * 5
    return source, torch.tensor([token.id for token in tokenizer.decoder_input(target)])


@pytest.mark.parametrize("name", SHIPPED)
def test_both_ways_agree_on_the_models_that_ship(name):
    source, target = read_by(name)
    found = saved(checkpoints.load(name), source, target)
    assert found.ok and 0 < found.probability <= 1e-5
    exact = saved(checkpoints.load(name).double(), source, target)
    assert exact.probability < 1e-12 and exact.difference < 1e-10, "What single precision shows is rounding."


@EACH
def test_a_step_with_a_cache_follows_from_its_inputs(config):
    """What the new token has of its own is made of what was recorded with it; keys and values hold the kept ones."""
    made, (source, target) = model(config), texts(config)
    traces, _ = read(made, source, target, (4, 1))
    checked = 0
    for path, value in traces[1].items():
        if path.endswith((".keys", ".values", ".positions", ".allowed")) or "encoder" in path:
            continue
        again = glossary.recompute(path, traces[1])
        torch.testing.assert_close(again, value.tensor, rtol=0, atol=EXACT)
        checked += 1
    assert checked > 20


@EACH
def test_multiplications_are_those_that_torch_counts(config):
    made, (source, target) = model(config), texts(config, padding=0)
    everything = saved(made, source, target).all
    with FlopCounterMode(display=False) as whole:
        made(source, target)
    _, before = Cache(made, source).read(target[:-1])
    with FlopCounterMode(display=False) as step:
        before.read(target[-1:])
    assert (everything.multiplied_whole, everything.multiplied_anew) == (
        whole.get_total_flops() / 2, step.get_total_flops() / 2,
    )  # fmt: skip


@EACH
def test_numbers_are_counted_by_part(config):
    made, (source, target) = model(config), texts(config, padding=0)
    found = {part.name: part for part in saved(made, source, target).parts}
    layers, width, length = config.layers, config.d_model, len(target)
    assert found["keys"].whole == 2 * layers * length * width
    assert (found["keys"].anew, found["keys"].kept) == (2 * layers * width, 2 * layers * (length - 1) * width)
    assert found["keys"].left_out == 0
    assert ("memory" in found) == ("encoder" in found) == (source is not None)
    if source is not None:
        assert (found["memory"].anew, found["memory"].kept) == (0, 2 * layers * len(source) * width)
        assert found["encoder"].anew == found["encoder"].kept == found["encoder"].multiplied_anew == 0
    assert found["feed_forward"].whole == length * found["feed_forward"].anew
    assert sum(part.whole for part in found.values()) == sum(
        value.tensor.numel() for value in trace(made, source, target).values()
    )


def test_a_text_goes_on_in_two_ways_from_one_cache():
    config = DECODERS[0]
    made, (_, target) = model(config), texts(config)
    _, before = Cache(made).read(target[:3])
    for other in (7, 8):
        branch = torch.tensor([other])
        found, _ = before.read(branch)
        with torch.inference_mode():
            whole = made.predict(made.vectors(None, torch.cat([target[:3], branch])))
        torch.testing.assert_close(found, whole[-1:], rtol=0, atol=EXACT)
    assert torch.equal(before.ids, target[:3])
    assert all(tensor.shape[-2] == 3 for tensor in before.kept.values())


def test_a_wrong_cache_is_seen(monkeypatch):
    """Positions that begin again at 0 are the usual mistake."""
    config = DECODERS[0]
    made, (_, target) = model(config), texts(config)
    right = caching.sinusoids
    monkeypatch.setattr(caching, "sinusoids", lambda length, width: right(length, width).roll(1, 0))
    found = saved(made, None, target)
    assert not found.ok and found.probability > 1e-3


@pytest.mark.parametrize("language", LANGUAGES)
def test_bars_are_the_multiplications(language):
    config = next(config for config in DECODERS if config.architecture == "encoder-decoder")
    found, words = saved(model(config), *texts(config)).parts, Words(language)
    spec = saving.multiplications(found, words).chart().to_dict()
    (rows,) = spec["datasets"].values()
    counted = [part for part in found if part.multiplied_whole]
    assert len(counted) == 6 and [row["whole"] for row in rows] == [part.multiplied_whole for part in counted]
    assert [row["anew"] for row in rows] == [part.multiplied_anew for part in counted]
    assert [row["part"] for row in rows] == [words(f"generation.cache.of.{part.name}") for part in counted]
    assert len(saving.table(found, words).splitlines()) == 2 + len(found)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="encoder-pre-1 sees every token at once"):
        Cache(model(GRID[0]), torch.tensor([BOS])).read(torch.tensor([BOS]))
    both = model(next(config for config in GRID if config.architecture == "encoder-decoder"))
    with pytest.raises(ValueError, match="reads the source, and there is none"):
        Cache(both).read(torch.tensor([BOS]))
    with pytest.raises(ValueError, match="at least one token"):
        Cache(model(DECODERS[0])).read(torch.empty(0, dtype=torch.long))
    with pytest.raises(ValueError, match="The text has 1 token"):
        saved(model(DECODERS[0]), None, torch.tensor([BOS]))
