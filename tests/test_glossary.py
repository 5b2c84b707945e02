"""Every value follows from its recorded inputs, whole and cell by cell, and is explained in both languages."""

import math
import random
import re

import pytest
import torch

from explorer import glossary
from explorer.config import PAD, Config
from explorer.glossary import TABLE, arithmetic, consumers, entry, inputs, recompute
from explorer.trace import trace
from tests.small import GRID, KINDS, model, named, recorded, texts

EXACT = 1e-11
EACH_CONFIG = pytest.mark.parametrize("config", GRID, ids=named)


def small(architecture: str, norm: str, **sizes) -> Config:
    return Config(architecture, norm, **{"heads": 2, "layers": 2, "d_model": 16, "d_ff": 24, "vocabulary": 40} | sizes)


EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids="-".join)


@EACH_CONFIG
def test_every_value_is_recomputed_from_its_inputs(config):
    made = recorded(config)
    for path, value in made.items():
        anew = recompute(path, made)
        assert anew.dtype == value.tensor.dtype
        torch.testing.assert_close(
            anew, value.tensor, rtol=0, atol=EXACT, msg=lambda text, path=path: f"{path}: {text}"
        )


@EACH_KIND
def test_every_value_is_recomputed_in_single_precision_too(kind):
    made = recorded(small(*kind), dtype=torch.float32)
    for path, value in made.items():
        torch.testing.assert_close(recompute(path, made), value.tensor, rtol=1e-4, atol=1e-5)


def test_recomputing_notices_a_changed_input():
    made = recorded(small("encoder-decoder", "pre"))
    changed = recorded(small("encoder-decoder", "pre"), seed=1)
    for path, value in made.items():
        if inputs(path, made):
            forged = {part: changed[source].tensor for part, source in inputs(path, made).items() if source in changed}
            assert any(not torch.equal(forged[part], made[inputs(path, made)[part]].tensor) for part in forged), path
            values = {part: glossary.tensor(source, made) for part, source in inputs(path, made).items()} | forged
            anew = entry(path).form.whole(values, value.tensor, made.config)
            if value.axes != ("query", "key"):  # two sources may have their padding at the same places
                assert not torch.allclose(anew.double(), value.tensor.double()), path


@EACH_CONFIG
def test_every_cells_arithmetic_gives_the_recorded_number(config):
    made = recorded(config)
    draw = random.Random(named(config))
    for path, value in made.items():
        cells = {tuple(draw.randrange(size) for size in value.tensor.shape) for _ in range(3)}
        cells |= {tuple(0 for _ in value.tensor.shape), tuple(size - 1 for size in value.tensor.shape)}
        if value.tensor.isinf().any():
            cells.add(tuple(value.tensor.isinf().nonzero()[0].tolist()))
        for index in cells:
            hold(arithmetic(path, index, made), made)


def hold(found: glossary.Arithmetic, made) -> None:
    """What must be true of any cell's arithmetic."""
    where = f"{found.path}{list(found.index)}"
    assert found.recorded == made[found.path].tensor[found.index].item(), where
    assert found.computed == pytest.approx(found.recorded, abs=EXACT), where
    assert not found.edited
    rest = found.rest(4)
    together = math.fsum(term.value for term in found.largest(4)) + (rest.value if rest else 0)
    assert together == pytest.approx(found.total, abs=EXACT), where
    assert len(found.largest(4)) + (rest.count if rest else 0) == sum(term.count for term in found.terms), where
    sources = set(inputs(found.path, made).values())
    for term in found.terms:
        if term.function == "product":
            assert term.value == pytest.approx(math.prod(factor.number for factor in term.factors)), where
        else:
            assert term.value == pytest.approx(math.exp(term.factors[0].number)), where
        for factor in term.factors:
            linked(factor, sources, made, where)
    for condition in found.conditions:
        for factor in condition.factors:
            assert factor.number == glossary.tensor(factor.path, made)[factor.index].item(), where
    if found.outer and found.outer.name == "divide":
        assert found.computed == pytest.approx(found.total / found.outer.number, abs=EXACT), where
    elif found.outer and found.outer.name == "softmax":
        assert found.computed == pytest.approx(found.outer.number / found.total, abs=EXACT), where
    elif found.outer and found.outer.name in ("sin", "cos"):
        assert found.computed == pytest.approx(getattr(math, found.outer.name)(found.total), abs=EXACT), where
    elif found.form in ("sum", "copy", "lookup"):
        assert found.computed == pytest.approx(found.total, abs=EXACT), where


def linked(factor: glossary.Factor, sources: set[str], made, where: str) -> None:
    """A factor with a path is that cell's number: itself, less another, or the gate that it opens."""
    if factor.path is None:
        return
    assert factor.path in sources, where
    number = glossary.tensor(factor.path, made)[factor.index].item()
    if factor.minus:
        linked(factor.minus, sources, made, where)
        number -= factor.minus.number
    elif factor.symbol == r"\Phi(h)":
        number = 0.5 * (1 + math.erf(number / math.sqrt(2)))
    elif factor.symbol == "[h > 0]":
        number = float(number > 0)
    assert factor.number == pytest.approx(number, abs=1e-15), where


def test_a_raw_score_is_a_query_times_a_key():
    made = recorded(small("decoder", "pre"))
    found = arithmetic("decoder.layers.1.self_attention.raw_scores", (1, 4, 2), made)
    assert [[(factor.role, factor.index) for factor in term.factors] for term in found.terms] == [
        [("query", (1, 4, column)), ("key", (1, 2, column))] for column in range(8)
    ]
    scaled = arithmetic("decoder.layers.1.self_attention.scores", (1, 4, 2), made)
    assert scaled.outer.name == "divide"
    assert scaled.outer.number == math.sqrt(8)


def test_a_query_is_a_row_of_its_heads_matrix_times_what_was_read_and_a_bias():
    made = recorded(small("decoder", "post"))
    found = arithmetic("decoder.layers.0.self_attention.queries", (1, 3, 5), made)
    *products, bias = found.terms
    assert [term.factors[0].index for term in products] == [(8 + 5, column) for column in range(16)]
    assert [term.factors[1].index for term in products] == [(3, column) for column in range(16)]
    assert (bias.factors[0].path, bias.factors[0].index) == ("decoder.layers.0.self_attention.w_q.bias", (13,))


def test_a_masked_cell_is_minus_infinity_and_says_why():
    made = recorded(small("decoder", "pre"))
    found = arithmetic("decoder.layers.0.self_attention.masked_scores", (1, 2, 4), made)
    assert found.recorded == found.computed == -math.inf
    assert not found.terms
    assert [condition.latex for condition in found.conditions] == ["A_{2,4} = 0", "4 > 2"]
    assert not any(condition.holds for condition in found.conditions)
    share = arithmetic("decoder.layers.0.self_attention.weights", (1, 2, 4), made)
    assert share.recorded == share.computed == 0
    seen = arithmetic("decoder.layers.0.self_attention.masked_scores", (1, 4, 2), made)
    assert [condition.latex for condition in seen.conditions] == ["A_{4,2} = 1", r"2 \le 4"]
    assert seen.recorded == seen.total


@pytest.mark.parametrize("path", ["encoder.layers.0.self_attention", "decoder.layers.0.cross_attention"])
def test_padding_is_the_reason_where_the_source_is_looked_at(path):
    made = recorded(small("encoder-decoder", "pre"))
    found = arithmetic(f"{path}.allowed", (1, 6), made)
    assert found.recorded == found.computed == 0
    assert found.conditions[0].words["en"] == "Key 6 is padding."
    assert (found.conditions[0].factors[0].path, found.conditions[0].latex) == ("encoder.embedding.ids", "t_{6} = 0")
    assert arithmetic(f"{path}.allowed", (1, 2), made).recorded == 1


def test_a_token_embedding_is_a_row_of_the_matrix():
    made = recorded(small("decoder", "pre"))
    token = made["decoder.embedding.ids"].tensor[3].item()
    found = arithmetic("decoder.embedding.tokens", (3, 7), made)
    assert found.form == "lookup"
    assert (found.outer.number, found.terms[0].factors[0].index) == (token, (token, 7))


def test_a_parameter_and_an_id_are_given():
    made = recorded(small("decoder", "pre"))
    found = arithmetic("decoder.layers.0.feed_forward.w_1.weight", (3, 4), made)
    assert found.form == "given"
    assert found.recorded == made.parameters["decoder.layers.0.feed_forward.w_1.weight"][3, 4].item()
    assert arithmetic("decoder.embedding.ids", (0,), made).form == "given"


def test_a_large_softmax_puts_its_small_terms_together():
    made = recorded(small("decoder", "pre", vocabulary=3000))
    logits = made["logits"].tensor[2]
    for token in (logits.argmax().item(), logits.argmin().item()):
        found = arithmetic("probabilities", (2, token), made)
        assert len(found.terms) < 1000
        assert sum(term.count for term in found.terms) == 3000
        assert found.total == pytest.approx(logits.exp().sum().item())
        assert found.computed == pytest.approx(found.recorded, rel=1e-12)
        assert any(term.factors and term.factors[0].index == (2, token) for term in found.terms)


def test_scores_beyond_the_range_of_e_are_shifted():
    scores = "decoder.layers.0.self_attention.scores"
    made = recorded(small("decoder", "pre"), edits={scores: [lambda value, _: value + 5000]})
    found = arithmetic("decoder.layers.0.self_attention.weights", (0, 3, 1), made)
    assert found.computed == pytest.approx(found.recorded, abs=1e-9)
    assert arithmetic(scores, (0, 3, 1), made).edited
    assert not found.edited


def test_a_row_that_may_look_nowhere_has_no_shares():
    allowed = "decoder.layers.0.self_attention.allowed"
    made = recorded(small("decoder", "pre"), edits={allowed: [lambda value, _: value & False]})
    found = arithmetic("decoder.layers.0.self_attention.weights", (0, 3, 1), made)
    assert math.isnan(found.recorded)
    assert math.isnan(found.computed)


@EACH_KIND
def test_inputs_follow_the_order_of_the_pass(kind):
    made = recorded(small(*kind))
    for path in made:
        for source in inputs(path, made).values():
            assert source in made.parameters or made.before(source, path), (path, source)


@EACH_KIND
def test_what_a_sublayer_reads_depends_on_where_the_norm_ran(kind):
    made = recorded(small(*kind))
    stack = made.config.stacks[-1]
    layer = f"{stack}.layers.1"
    before = made.config.norm == "pre"
    reads = {
        f"{layer}.self_attention.queries": f"{layer}.self_attention_residual.{'norm.output' if before else 'input'}",
        f"{layer}.feed_forward.hidden": f"{layer}.feed_forward_residual.{'norm.output' if before else 'input'}",
        f"{layer}.feed_forward_residual.norm.mean": f"{layer}.feed_forward_residual.{'input' if before else 'sum'}",
        f"{layer}.self_attention_residual.input": f"{stack}.layers.0.feed_forward_residual."
        + ("sum" if before else "norm.output"),
        f"{stack}.layers.0.self_attention_residual.input": f"{stack}.embedding.output",
        "logits": f"{stack}.norm.output" if before else f"{layer}.feed_forward_residual.norm.output",
    }
    if before:
        reads[f"{stack}.norm.variance"] = f"{layer}.feed_forward_residual.sum"
    assert {path: inputs(path, made)["x"] for path in reads} == reads


@pytest.mark.parametrize(
    "norm, memory", [("pre", "encoder.norm"), ("post", "encoder.layers.1.feed_forward_residual.norm")]
)
def test_cross_attention_asks_the_decoder_and_reads_the_encoder(norm, memory):
    made = recorded(small("encoder-decoder", norm))
    cross = "decoder.layers.0.cross_attention"
    assert inputs(f"{cross}.keys", made)["x"] == inputs(f"{cross}.values", made)["x"] == f"{memory}.output"
    assert inputs(f"{cross}.queries", made)["x"].startswith("decoder.layers.0.cross_attention_residual.")
    assert "M_j" in entry(f"{cross}.keys", made).formula
    assert f"{cross}.keys" in consumers(f"{memory}.output", made)
    assert "decoder.layers.1.cross_attention.values" in consumers(f"{memory}.output", made)


@EACH_KIND
def test_consumers_are_inputs_seen_from_the_other_end(kind):
    made = recorded(small(*kind))
    for path in made:
        assert consumers(path, made) == [other for other in made if path in inputs(other, made).values()]
    ends = [path for path in made if not consumers(path, made)]
    assert ends == ["probabilities"]


@EACH_CONFIG
def test_every_parameter_is_read(config):
    made = recorded(config)
    read = {source for path in made for source in inputs(path, made).values()}
    assert set(made.parameters) <= read
    for path in made.parameters:
        assert entry(path, made).role == "parameter"
        assert inputs(path, made) == {}


def test_the_formula_says_what_was_read():
    before, after = recorded(small("decoder", "pre")), recorded(small("decoder", "post"))
    queries = "decoder.layers.1.self_attention.queries"
    assert entry(queries).formula == "q_i = W_Q {x}_i + b_Q"
    assert entry(queries, before).formula == r"q_i = W_Q \bar x_i + b_Q"
    assert entry(queries, after).formula == "q_i = W_Q x_i + b_Q"
    mean = "decoder.layers.1.feed_forward_residual.norm.mean"
    assert "x'_c" in entry(mean, after).formula
    assert "x_c" in entry(mean, before).formula
    assert entry(mean, before).sentence != entry(mean, after).sentence
    relu = recorded(small("decoder", "pre", activation="relu"))
    activated = "decoder.layers.1.feed_forward.activated"
    assert "GELU" in entry(activated, before).formula
    assert "max" in entry(activated, relu).formula


@pytest.mark.parametrize("pattern", TABLE)
def test_every_entry_speaks_both_languages(pattern):
    found = TABLE[pattern]
    assert found.symbol and found.formula and found.cell
    for words in (found.name, found.sentence):
        assert set(words) == {"en", "ko"}
        assert words["en"].isascii() and words["en"].strip()
        assert re.search("[가-힣]", words["ko"])
    assert found.sentence["en"].endswith(".")
    assert found.sentence["ko"].endswith("니다.")  # 합니다체
    assert not re.search("[.]$", found.name["en"] + found.name["ko"])


@EACH_KIND
def test_every_operation_of_a_pass_has_a_sentence_of_its_own(kind):
    made = recorded(small(*kind, layers=1))
    for language in ("en", "ko"):
        seen = {}
        for path in made:
            sentence = entry(path, made).sentence[language]
            module, _, name = path.rpartition(".")
            alike = seen.setdefault(sentence, (module, name))
            assert alike[1] == name, (path, alike)  # the same operation elsewhere may share it, another may not


def test_cross_attentions_sentences_are_not_self_attentions():
    made = recorded(small("encoder-decoder", "pre"))
    for name in ("queries", "keys", "values", "raw_scores", "allowed", "masked_scores", "weights", "heads", "output"):
        sentences = [
            entry(f"{attention}.{name}", made).sentence
            for attention in ("decoder.layers.0.self_attention", "decoder.layers.0.cross_attention")
        ]
        assert sentences[0]["en"] != sentences[1]["en"]
        assert sentences[0]["ko"] != sentences[1]["ko"]
    keys = entry("decoder.layers.0.cross_attention.keys").sentence
    assert "encoder's output" in keys["en"]
    assert "인코더의 출력" in keys["ko"]
    allowed = [entry(f"{stack}.layers.0.self_attention.allowed").sentence["en"] for stack in ("encoder", "decoder")]
    assert allowed[0] != allowed[1]


def test_one_symbol_has_one_meaning():
    meanings: dict[str, set[str]] = {}
    for found in TABLE.values():
        meanings.setdefault(found.symbol, set()).add(found.name["en"])
    stream = {"stream", "stream at the entrance"}
    added = {f"stream after {sublayer}" for sublayer in ("self-attention", "cross-attention", "feed-forward")}
    assert meanings.pop("x") == stream
    assert meanings.pop("x'") == added
    assert {symbol: names for symbol, names in meanings.items() if len(names) > 1} == {}
    names = [name for found in meanings.values() for name in found]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", ["decoder.layers.0.self_attention.wisdom", "embedding", "logits.output", ""])
def test_an_unknown_path_is_named(path):
    made = recorded(small("decoder", "pre"))
    for ask in (entry, lambda path: inputs(path, made), lambda path: recompute(path, made)):
        with pytest.raises(KeyError, match=f"knows no value or parameter called {re.escape(path)}"):
            ask(path)


def test_a_value_of_another_architecture_is_not_in_the_trace():
    made = recorded(small("decoder", "pre"))
    for ask in (entry, inputs, consumers, recompute):
        with pytest.raises(KeyError, match="encoder.embedding.ids is not in this trace"):
            ask("encoder.embedding.ids", made)


@pytest.mark.parametrize("index", [(5, 0), (0, -1), (0,), (0, 0, 0)])
def test_a_cell_outside_is_refused_with_the_shape(index):
    made = recorded(small("decoder", "pre"))
    with pytest.raises(IndexError, match=r"logits has shape \(5, 40\), so it has no cell"):
        arithmetic("logits", index, made)


def test_an_input_is_found_while_the_pass_still_runs():
    asked = []

    def look(value, so_far):
        asked.append(so_far.before("decoder.layers.0.self_attention_residual.norm.output", "logits"))
        asked.append("decoder.layers.0.self_attention_residual.norm.output" in so_far)
        return value

    small_one = small("decoder", "pre")
    trace(model(small_one), *texts(small_one), edits={"decoder.layers.0.self_attention.queries": [look]})
    assert asked == [False, True]


def test_padding_is_the_first_id():
    made = recorded(small("encoder", "pre"))
    assert made["encoder.embedding.ids"].tensor[-1] == PAD
