"""A model's sizes are checked when they are stated, and a refusal says the numbers and the remedy."""

from dataclasses import FrozenInstanceError

import pytest

from explorer.config import ARCHITECTURES, BOS, EOS, MASK, PAD, SPECIAL_TOKENS, Config


def test_the_defaults_are_those_of_the_trained_models():
    config = Config()
    assert (config.d_model, config.d_ff, config.layers, config.heads, config.vocabulary) == (128, 512, 4, 4, 4096)
    assert config.activation == "gelu"


@pytest.mark.parametrize("heads, d_k", [(1, 128), (2, 64), (4, 32), (8, 16)])
def test_heads_share_the_width(heads, d_k):
    assert Config(heads=heads).d_k == d_k


def test_stacks_stand_in_the_order_of_the_data():
    assert [Config(architecture=name).stacks for name in ARCHITECTURES] == [
        ("encoder",),
        ("decoder",),
        ("encoder", "decoder"),
    ]


def test_a_name_tells_architecture_norm_and_heads():
    assert Config("encoder-decoder", "post", 8).name == "encoder-decoder-post-8"


def test_special_tokens_stand_first_in_the_vocabulary():
    by_id = dict(enumerate(SPECIAL_TOKENS))
    assert (by_id[PAD], by_id[BOS], by_id[EOS], by_id[MASK]) == ("[PAD]", "[BOS]", "[EOS]", "[MASK]")


@pytest.mark.parametrize(
    "stated, said",
    [
        ({"architecture": "both"}, "architecture is 'both'; choose one of encoder, decoder, encoder-decoder."),
        ({"norm": "mid"}, "norm is 'mid'; choose one of pre, post."),
        ({"activation": "tanh"}, "activation is 'tanh'; choose one of gelu, relu."),
        ({"layers": 0}, "layers is 0; it must be at least 1."),
        ({"vocabulary": -3}, "vocabulary is -3; it must be at least 1."),
        (
            {"d_model": 12, "heads": 5},
            "d_model = 12 cannot be shared evenly by 5 heads; choose one of 1, 2, 3, 4, 6, 12.",
        ),
        ({"d_model": 9, "heads": 3}, "d_model is 9; sinusoidal positions pair a sine with a cosine"),
        ({"dropout": 1.0}, "dropout is 1.0; choose a share from 0 up to, but not including, 1."),
    ],
)
def test_a_refusal_says_the_numbers_and_the_remedy(stated, said):
    with pytest.raises(ValueError) as refusal:
        Config(**stated)
    assert said in str(refusal.value)


def test_a_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Config().heads = 8
