"""The model is the Transformer: torch's own layers with the same weights compute the same numbers."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from explorer.analysis.proof import reference
from explorer.config import BOS, PAD, Config
from explorer.trace import Trace, trace
from explorer.transformer import Transformer, sinusoids
from tests.small import GRID, KINDS, model, named, recorded, texts

EXACT = 1e-12  # float64, many additions


def config(architecture: str, norm: str, **sizes) -> Config:
    small = {"heads": 4, "layers": 2, "d_model": 16, "d_ff": 24, "vocabulary": 40}
    return Config(architecture, norm, **small | sizes)


EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids="-".join)


@pytest.mark.parametrize("config", GRID, ids=named)
def test_torch_computes_the_same(config):
    made = model(config)
    for padding in (0, 2):
        source, target = texts(config, padding=padding)
        if source is not None and not padding:
            source = source[:5]  # as long as the target, so that no length tells the two apart
        ours = trace(made, source, target)
        with torch.inference_mode():
            theirs = reference(made)(source, target)
        for number, stack in enumerate(config.stacks):
            for layer in range(config.layers):
                path = f"{stack}.layers.{layer}"
                residual = f"{path}.feed_forward_residual"
                stream = f"{residual}.sum" if config.norm == "pre" else f"{residual}.norm.output"
                torch.testing.assert_close(ours[stream].tensor, theirs[f"{path}.output"], rtol=0, atol=EXACT)
                for attention in ("self_attention", "cross_attention")[: 1 + number]:
                    weights = f"{path}.{attention}.weights"
                    assert ours[weights].tensor.shape[0] == config.heads
                    torch.testing.assert_close(ours[weights].tensor, theirs[weights], rtol=0, atol=EXACT)
            if config.norm == "pre":
                ending = ours[f"{stack}.norm.output"].tensor
                torch.testing.assert_close(ending, theirs[f"{stack}.output"], rtol=0, atol=EXACT)
        torch.testing.assert_close(ours["logits"].tensor, theirs["logits"], rtol=0, atol=EXACT)
        sums = ours["probabilities"].tensor.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=EXACT)


@EACH_KIND
def test_a_padded_batch_computes_what_each_text_computes_alone(kind):
    made = model(config(*kind))
    sources = [torch.tensor([BOS, 9, 17, 30, 2]), torch.tensor([BOS, 5, 2])]
    targets = [torch.tensor([BOS, 21]), torch.tensor([BOS, 33, 8, 11])]
    has = made.config.stacks
    batch = [
        torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=PAD) if stack in has else None
        for stack, texts in (("encoder", sources), ("decoder", targets))
    ]
    with torch.inference_mode():
        together = made(*batch)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = made(source if "encoder" in has else None, target if "decoder" in has else None)
            torch.testing.assert_close(together[row, : len(alone)], alone, rtol=0, atol=EXACT)


@EACH_KIND
def test_a_decoder_does_not_see_the_future_and_an_encoder_sees_everything(kind):
    made = model(config(*kind))
    source, target = texts(made.config, padding=0)
    with torch.inference_mode():
        before = made(source, target)
        if target is not None:
            changed = target.clone()
            changed[3] = changed[3] % 38 + 1
            after = made(source, changed)
            torch.testing.assert_close(after[:3], before[:3], rtol=0, atol=EXACT)
            assert (after[3:] - before[3:]).abs().amax(-1).min() > 1e-6
        if source is not None:
            changed = source.clone()
            changed[-1] = changed[-1] % 38 + 1
            assert (made(changed, target) - before).abs().amax(-1).min() > 1e-6


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "encoder" in kind[0]], ids="-".join)
def test_padding_of_the_source_changes_nothing(kind):
    made = model(config(*kind))
    source, target = texts(made.config, padding=0)
    with torch.inference_mode():
        padded = torch.nn.functional.pad(source, (0, 3), value=PAD)
        after, before = made(padded, target), made(source, target)
    torch.testing.assert_close(after[: len(before)], before, rtol=0, atol=EXACT)


@pytest.mark.parametrize("config", GRID, ids=named)
def test_recording_changes_no_bit(config):
    made, given = model(config, dtype=torch.float32), texts(config)
    with torch.inference_mode():
        silent = made(*given)
        watched = Trace(made)
        assert torch.equal(silent, made(*given, record=watched.record))
    assert torch.equal(silent, watched["probabilities"].tensor)


@EACH_KIND
def test_two_threads_may_share_a_model(kind):
    made = model(config(*kind), dtype=torch.float32)
    many = [texts(made.config, seed) for seed in range(12)]
    alone = [trace(made, *given) for given in many]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda given: trace(made, *given), many))
    for one, other in zip(alone, together, strict=True):
        assert list(one) == list(other)
        assert all(torch.equal(one[path].tensor, other[path].tensor) for path in one)


ATTENTION = ["queries", "keys", "values", "raw_scores", "scores", "allowed", "masked_scores"]
ATTENTION += ["weights", "heads", "concat", "output"]
SUBLAYERS = {
    "self_attention": ATTENTION,
    "cross_attention": ATTENTION,
    "feed_forward": ["hidden", "activated", "output"],
}
NORM = ["norm.mean", "norm.variance", "norm.normalised", "norm.output"]


def catalogue(architecture: str, norm: str, layers: int) -> list[str]:
    """Every path of a pass, in its order."""
    paths = []
    for stack in architecture.split("-"):
        paths += [f"{stack}.embedding.{name}" for name in ("ids", "tokens", "scaled", "positions", "output")]
        crossing = (architecture, stack) == ("encoder-decoder", "decoder")
        for layer in range(layers):
            for sublayer, values in SUBLAYERS.items():
                if sublayer == "cross_attention" and not crossing:
                    continue
                here = f"{stack}.layers.{layer}.{sublayer}"
                normed = [f"{here}_residual.{name}" for name in NORM]
                inner = [f"{here}.{name}" for name in values]
                paths.append(f"{here}_residual.input")
                paths += [*normed, *inner] if norm == "pre" else inner
                paths.append(f"{here}_residual.sum")
                paths += normed if norm == "post" else []
        paths += [f"{stack}.{name}" for name in NORM] if norm == "pre" else []
    return [*paths, "logits", "probabilities"]


@EACH_KIND
def test_the_catalogue_of_paths(kind):
    assert list(recorded(config(*kind))) == catalogue(*kind, layers=2)


@EACH_KIND
def test_axes_name_the_sizes(kind):
    made = recorded(config(*kind, heads=2))
    sizes = {"head": 2, "d_model": 16, "d_k": 8, "d_v": 8, "d_ff": 24, "vocabulary": 40, "1": 1}
    for path, value in made.items():
        length = 7 if path.startswith("encoder") or "decoder" not in made.config.stacks else 5
        asked = 7 if "cross_attention" in path else length
        expected = sizes | {"position": length, "query": length, "key": asked}
        assert value.tensor.shape == tuple(expected[axis] for axis in value.axes), path


def test_positions_are_waves_beside_each_other():
    waves = sinusoids(300, 16)
    angle = torch.tensor(257 / 10000 ** (6 / 16), dtype=torch.float64)
    assert waves[257, 6].item() == pytest.approx(angle.sin().item(), abs=1e-14)
    assert waves[257, 7].item() == pytest.approx(angle.cos().item(), abs=1e-14)


@EACH_KIND
def test_dropout_is_for_training_only(kind):
    with_dropout = model(config(*kind, dropout=0.5))
    without = model(config(*kind, dropout=0.0))
    given = texts(with_dropout.config)
    with torch.inference_mode():
        assert torch.equal(with_dropout(*given), without(*given))
        assert not torch.equal(with_dropout.train()(*given), without(*given))


@EACH_KIND
def test_all_stacks_and_the_output_share_one_embedding(kind):
    made = Transformer(config(*kind))
    tables = [getattr(made, stack).embedding.weight for stack in made.config.stacks]
    assert all(table is made.embedding for table in tables)
    assert sum(parameter.shape == made.embedding.shape for parameter in made.parameters()) == 1


def test_embeddings_start_at_the_deviation_that_scaling_undoes():
    torch.manual_seed(0)
    made = Transformer(Config())
    assert made.embedding.std().item() == pytest.approx(128**-0.5, rel=0.01)
    scaled = trace(made.eval(), None, torch.arange(4, 260))["decoder.embedding.scaled"].tensor
    assert scaled.std().item() == pytest.approx(1, rel=0.02)


def test_every_parameter_is_trained():
    for kind in KINDS:
        made = Transformer(config(*kind))
        source, target = texts(made.config)
        made(source, target)[..., 3].log().sum().backward()
        untouched = [name for name, parameter in made.named_parameters() if parameter.grad is None]
        assert not untouched


def test_a_text_longer_than_any_in_training_runs():
    made = model(config("decoder", "pre"))
    assert trace(made, None, torch.arange(600) % 39 + 1)["logits"].tensor.shape == (600, 40)


@EACH_KIND
def test_one_token_is_a_text(kind):
    made = model(config(*kind))
    one = torch.tensor([BOS])
    has = made.config.stacks
    seen = trace(made, one if "encoder" in has else None, one if "decoder" in has else None)
    for path, value in seen.select("*.weights").items():
        assert (value.tensor == 1).all(), path


@EACH_KIND
def test_a_stack_without_a_text_is_named(kind):
    made = model(config(*kind))
    given = dict(zip(("source", "target"), texts(made.config), strict=True))
    for name in [name for name, ids in given.items() if ids is not None]:
        with pytest.raises(ValueError, match=f"reads the {name}, and there is none; pass {name}=ids"):
            made(**given | {name: None})
