"""The picture of the whole pass, without a browser: where things stand, what travels, the order of the steps."""

import json
import re
import zlib
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer import glossary
from explorer.config import ARCHITECTURES, BOS, EOS, MASK, NORMS, Config
from explorer.tokens import Token
from explorer.trace import Trace, trace
from explorer.transformer import Transformer
from explorer.views.components import stave
from explorer.views.components import stave_layout as layout
from explorer.views.components.stave_upright import upright
from explorer.words import LANGUAGES, Words

CONFIGS = [
    Config(architecture, norm, heads, layers=3 if architecture == "encoder-decoder" else 4)
    for architecture in ARCHITECTURES
    for norm in NORMS
    for heads in (1, 2, 4, 8)
]
LENGTHS = (5, 12, 20, 40)
SOLID = {
    "strip",
    "plate",
    "maps",
    "chip",
    "norm",
    "plus",
    "pill",
    "layer",
    "circle",
    "curve",
    "bar",
    "tick",
    "more",
    "text",
}


@cache
def model(config: Config) -> Transformer:
    torch.manual_seed(0)
    return Transformer(config).eval()


def ids(length: int, stack: str, masks: tuple[int, ...] = ()) -> list[int]:
    found = [BOS, *(range(100, 100 + length - 1))]
    if stack == "encoder":
        found[-1] = EOS
    return [MASK if i in masks else id for i, id in enumerate(found)]


@cache
def recorded(config: Config, length: int, masks: tuple[int, ...] = ()) -> Trace:
    read = {stack: torch.tensor(ids(length, stack, masks)) for stack in config.stacks}
    return trace(model(config), read.get("encoder"), read.get("decoder"))


def token(id: int) -> Token:
    """Words of many lengths, some in Hangul, some parts of a character."""
    if id < 4:
        return Token(id, b"", "", 0, 0, special=True)
    text = (" the", "cat", " because", "한국어", " 테이블", ".", "incomprehensibilities")[id % 7]
    return Token(id, text.encode(), text, 0, len(text), part=(1, 2) if id % 11 == 0 else None)


def view(config: Config, length: int, layer: int = 1, focus: int | None = None, masks=(), language="en") -> layout.View:
    found = recorded(config, length, masks)
    tokens = {stack: [token(id) for id in ids(length, stack, masks)] for stack in config.stacks}
    focus = length * 2 // 3 if focus is None else focus
    return stave.view(found, tokens, Words(language), token, layer=layer, focus=focus, masked=MASK)


def opened(data: bytes) -> tuple[dict, bytes]:
    length = int.from_bytes(data[:4], "little")
    return json.loads(zlib.decompress(data[4 : 4 + length])), data[4 + -(-length // 4) * 4 :]


def box(item: dict) -> tuple[float, float, float, float]:
    """What an item covers: left, top, right, lower end."""
    if item["kind"] == "strip":
        return item["x"], item["ys"][0] - item["h"] / 2, item["x"] + item["w"], item["ys"][-1] + item["h"] / 2
    if item["kind"] == "plus":
        return item["x"] - item["w"] / 2, item["y"], item["x"] + item["w"] / 2, item["y"] + item["h"]
    if item["kind"] == "circle":
        return item["x"] - item["r"], item["y"] - item["r"], item["x"] + item["r"], item["y"] + item["r"]
    if item["kind"] == "text":
        parts = [(part, "") if isinstance(part, str) else part for part in item["parts"]]
        width = sum(
            layout.text_width(text, item["size"] * (0.72 if set(style) & set("sr") else 1)) for text, style in parts
        )
        left = item["x"] - width * {"middle": 0.5, "end": 1}.get(item.get("anchor"), 0)
        return left, item["y"] - item["size"] * 0.72, left + width, item["y"] + 1
    return item["x"], item["y"], item["x"] + item["w"], item["y"] + item["h"]


def overlaps(one, other, slack: float = 0.6) -> bool:
    return (
        one[0] < other[2] - slack
        and other[0] < one[2] - slack
        and one[1] < other[3] - slack
        and other[1] < one[3] - slack
    )


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_nothing_overlaps_and_all_is_within_the_picture(config):
    for length in LENGTHS:
        for layer in range(config.layers):
            for language in LANGUAGES if layer == 1 else ("en",):
                shown = view(config, length, layer, language=language)
                for name, draw in (("wide", stave.wide), ("upright", upright)):
                    picture = draw(shown)
                    solid = [
                        (box(item), item) for item in picture.items if item["kind"] in SOLID and not item.get("within")
                    ]
                    for (one, item), (other, another) in combinations(solid, 2):
                        assert not overlaps(one, other), f"{length} {layer} {name} {language}: {item} {another}"
                    for (left, top, right, low), item in solid:
                        assert left >= -8 and right <= picture.width + 8, item
                        assert top >= 0 and low <= picture.height + 1, item


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_every_value_of_the_open_layer_and_around_the_layers_is_there(config):
    for length in LENGTHS:
        for layer in range(config.layers):
            shown = view(config, length, layer)
            for picture in (stave.wide(shown), upright(shown)):
                there = {item.get("p") for item in picture.items if item.get("hit")}
                due = [path for path in shown.trace if ".layers." not in path or f".layers.{layer}." in path]
                assert [path for path in due if path not in there] == []


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_the_stave_is_unbroken_and_in_the_order_of_the_trace(config):
    for length in LENGTHS:
        shown = view(config, length)
        order = {path: i for i, path in enumerate(shown.trace)}
        items = stave.wide(shown).items
        for stack in config.stacks:
            start, stop = layout.window(length, shown.focus[stack])
            threads = {item["position"]: item for item in items if item["kind"] == "thread" and item["stack"] == stack}
            assert sorted(threads) == list(range(start, stop))
            own = [item for item in items if item.get("p", "").startswith(f"{stack}.")]
            standing = [
                item for item in own if item["kind"] == "plus" or (item["kind"] == "strip" and item["stack"] == stack)
            ]
            for item in standing:
                for thread in threads.values():
                    left, top, right, low = box(item)
                    assert top < thread["y"] < low, (item, thread)
                    assert thread["x0"] <= left and (right <= thread["x1"] + 12), (item, thread)
            # along the stave, left to right, stand the values in the order in which they were computed
            sums = sorted((item["x"], order[item["p"]]) for item in own if item["kind"] == "plus")
            assert [at for _, at in sums] == sorted(at for _, at in sums)
            strips = sorted(
                (item["x"], order[item["p"]]) for item in standing if item["kind"] == "strip" and not item.get("framed")
            )
            assert [at for _, at in strips] == sorted(at for _, at in strips)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_norm_stands_where_the_trace_has_it(config):
    shown = view(config, 12)
    items = stave.wide(shown).items
    for stack in layout.stacks(shown.trace):
        lines = [item["y"] for item in items if item["kind"] == "thread" and item["stack"] == stack.name]
        for sublayer in stack.layers[1]:
            assert bool(sublayer.before) == (config.norm == "pre") and bool(sublayer.after) == (config.norm == "post")
            (capsule,) = [
                item
                for item in items
                if item["kind"] == "norm" and item["p"] == (sublayer.before or sublayer.after)[-1]
            ]
            _, top, _, low = box(capsule)
            on_stave = top < min(lines) and max(lines) < low
            beside = low < min(lines) or top > max(lines)
            assert on_stave if sublayer.after else beside


def test_the_structure_is_the_trace_in_its_order():
    for config in CONFIGS[::4]:
        found = recorded(config, 5)
        paths = []
        for stack in layout.stacks(found):
            paths += stack.embedding
            for sublayers in stack.layers:
                for sublayer in sublayers:
                    paths += sublayer.paths
            paths += stack.norm
        assert [*paths, "logits", "probabilities"] == list(found)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_numbers_are_those_of_the_trace(config):
    for length in (12, 40):
        shown = view(config, length)
        header, cells = opened(stave.message(shown))
        assert header["cells"]
        for path, table in header["cells"].items():
            tensor = shown.trace[path].tensor
            count = table["rows"] * table["heads"] * table["cols"]
            if table.get("thumb"):
                assert len(cells) >= table["at"] + count
                continue
            numbers = np.frombuffer(cells, np.float32, count, table["at"])
            rows = layout.window(length, shown.focus[table["stack"]])
            if table.get("maps"):
                columns = layout.window(length, shown.focus[table["columns"]])
                numbers = numbers.reshape(table["heads"], table["rows"], table["cols"])
                if table["hides"]:
                    allowed = shown.trace[path.replace("masked_scores", "allowed")].tensor
                    numbers = np.where(allowed[slice(*rows), slice(*columns)].numpy(), numbers, -np.inf)
                expected = tensor[..., slice(*rows), slice(*columns)].float().numpy()
                assert np.array_equal(numbers.reshape(expected.shape), expected), path
                continue
            share = table["share"]
            places = np.zeros(count, np.uint8)
            if "places" in table:
                places = np.frombuffer(cells, np.uint8, count, table["places"])
            numbers, places = (part.reshape(table["rows"], table["heads"], table["cols"]) for part in (numbers, places))
            whole = tensor[None] if tensor.ndim == 2 else tensor
            for head in range(table["heads"]):
                for row in range(table["rows"]):
                    vector = whole[head, rows[0] + row].float().numpy()
                    at = np.arange(table["cols"]) * share + places[row, head]
                    assert np.array_equal(vector[at], numbers[row, head]), path
                    if not table["sampled"]:
                        largest = [np.abs(vector[c * share : (c + 1) * share]).max() for c in range(table["cols"])]
                        assert np.array_equal(np.abs(numbers[row, head]), largest), path


@pytest.mark.parametrize("config", CONFIGS[::4], ids=lambda config: config.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_steps_visit_every_value_once_in_order_with_a_sentence(config, language):
    shown = view(config, 12, language=language)
    header, _ = opened(stave.message(shown))
    walk = header["steps"]
    assert [step["p"] for step in walk] == list(shown.trace)
    for number, step in enumerate(walk):
        text = header["texts"][step["e"]]
        assert text["sentence"] == glossary.entry(step["p"], shown.trace).sentence[language] and text["formula"]
        reads = [walk[read]["p"] if isinstance(read, int) else read for read in step["i"]]
        assert reads == list(glossary.inputs(step["p"], shown.trace).values())
        assert all(read < number for read in step["i"] if isinstance(read, int))
        value = shown.trace[step["p"]]
        own = step["p"].split(".")[0] if step["p"].split(".")[0] in shown.focus else config.stacks[-1]
        if step["p"].endswith((".cross_attention.keys", ".cross_attention.values")):
            own = "encoder"
        assert step["t"] == own
        row = (value.tensor[0] if value.axes[0] == "head" else value.tensor)[shown.focus[own]].reshape(-1)[:3].tolist()
        assert step["n"] == [None if n == float("-inf") else pytest.approx(float(n), abs=1e-6) for n in row]


def test_every_formula_can_be_drawn():
    script = (Path(stave.__file__).parent / "stave.js").read_text(encoding="utf-8")
    table = re.search(r"const SIGNS = \{(.*?)\n\};", script, re.DOTALL).group(1)
    known = set(re.findall(r"(\w+): \"", table)) | set(re.findall(r'"(.)": "', table))
    known |= {"frac", "sqrt", "tilde", "hat", "bar", "text", "mathrm", "operatorname", "begin", "end", "\\"}
    for config in CONFIGS[::4]:
        found = recorded(config, 5)
        for path in found:
            used = set(re.findall(r"\\([a-zA-Z]+|.)", glossary.entry(path, found).formula))
            assert used <= known, (path, used - known)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_message_stays_small(config):
    assert len(stave.message(view(config, 32))) < 300_000
    assert len(stave.message(view(config, 200))) < 300_000


def test_predictions_are_claimed_where_the_model_makes_one():
    decoder, encoder = Config("decoder"), Config("encoder")
    shown = view(decoder, 12, focus=4).prediction
    best = recorded(decoder, 12)["probabilities"].tensor[4].topk(5)
    assert (shown.claim, shown.position) == ("next", 4)
    assert [chip.id for chip, _, _ in shown.best] == best.indices.tolist()
    assert [share for _, share, _ in shown.best] == best.values.tolist()
    assert view(encoder, 12).prediction.claim == "none"
    masked = view(encoder, 12, focus=9, masks=(3, 8)).prediction
    assert (masked.claim, masked.position) == ("masked", 8)
    assert "bar" not in {item["kind"] for item in stave.wide(view(encoder, 12)).items}


def test_a_long_text_is_seen_through_a_window_around_the_focus():
    assert layout.window(24, 3) == (0, 24)
    assert (
        layout.window(40, 0) == (0, 20) and layout.window(40, 39) == (20, 40) and layout.window(256, 100) == (90, 110)
    )
    shown = view(Config("decoder"), 40, focus=30)
    more = [item for item in stave.wide(shown).items if item["kind"] == "more"]
    assert [item["text"] for item in more] == ["20 more"]
    assert {item["position"] for item in more} == {19}


def test_twelve_tokens_fit():
    for config in CONFIGS:
        for layer in range(config.layers):
            picture = stave.wide(view(config, 12, layer))
            assert picture.height <= (800 if len(config.stacks) > 1 else 775), (config.name, layer, picture.height)


def test_a_group_shows_its_largest_number_with_its_sign():
    array = np.array([[1, -5, 2, 0, 0, 3.5, -1]], np.float32)
    numbers, places, share = stave.grouped(array, 3)
    assert share == 3 and numbers.tolist() == [[-5, 3.5, -1]] and places.tolist() == [[1, 2, 0]]
