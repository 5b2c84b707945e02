"""What stands in the README and beside it stays true: links, commands, figures, the number that is followed, nginx."""

import importlib.util
import math
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit import config

import explorer
from explorer import checkpoints
from explorer.training import lexicon

ROOT = Path(__file__).parents[1]
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8")
         for name in ("README.md", "README.ko.md", "CONTRIBUTING.md", "CHANGELOG.md", "NOTICE")}  # fmt: skip
README = TEXTS["README.md"]
NGINX = (ROOT / "docs" / "nginx.conf").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    """The fenced pieces of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", TEXTS)
def test_every_file_that_is_named_is_there(name):
    text = TEXTS[name]
    named = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    named += re.findall(r"`((?:explorer|docs|pages|tests|bench|notebooks|\.streamlit)/[\w./*-]+)`", text)
    headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
                for line in re.findall(r"^#+ (.*)", text, re.MULTILINE)}  # fmt: skip
    for target in named:
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif not target.startswith("http"):
            assert list(ROOT.glob(target.rstrip("/"))), f"{name} names {target}"


@pytest.mark.parametrize("name", ["README.md", "README.ko.md", "CONTRIBUTING.md"])
def test_every_command_has_what_it_runs(name):
    commands = "".join(blocks("sh", TEXTS[name]))
    assert commands
    for module in re.findall(r"python -m ([\w.]+)", commands):
        assert importlib.util.find_spec(module), f"{name} runs {module}"
    for file in re.findall(r"(?:-r|streamlit run|cp) (\S+)", commands):
        assert (ROOT / file).is_file(), f"{name} reads {file}"


def test_continuous_integration_finds_the_test_command():
    found = re.findall(r"^python3 -m venv .*pytest.*", README, re.MULTILINE)
    assert len(found) == 1 and found[0].endswith("-m pytest -q tests/browser")


def test_the_lines_for_a_notebook_run():
    (lines,) = (block for block in blocks("python") if "import explorer" in block)
    *before, last = lines.strip().splitlines()
    names: dict = {}
    exec("\n".join(before), names)
    assert eval(last, names).to_dict()["datasets"]


def test_the_number_that_is_followed_is_the_one_on_the_screen():
    (link,) = re.findall(r"\((http://localhost:8501/\?s=[^)]+)\)", README)
    asked = {name: value for name, (value,) in parse_qs(urlsplit(link).query).items()}
    path, index, said = re.search(r"^    ([\w.]+)\[([\d, ]+)\].* = +(\S+)$", README, re.MULTILINE).groups()
    assert path.split(".")[2] == asked["layer"]
    seen = explorer.read(asked["s"], "-".join(asked[part] for part in ("arch", "norm", "heads")))
    head, query, key = map(int, index.split(","))
    weights, scores = (seen[path.replace("weights", name)].tensor[head, query] for name in ("weights", "masked_scores"))
    assert f"{weights[key]:.4g}" == said and weights.argmax() == key and query == len(weights) - 1
    power, total = scores[key].exp(), scores.exp().sum()
    assert f"{power:.4g} ÷ {total:.4g}  =  {said}" in README
    assert f"a masked score of {scores[key]:.4g}, whose exponential is {power:.4g}" in README
    (line,) = (block.strip() for block in blocks("python") if "record(" in block)
    assert line in (ROOT / "explorer" / "transformer.py").read_text(encoding="utf-8")


def test_the_limits_are_those_of_the_cards():
    known = {name: checkpoints.card(name)["held_out"] for name in checkpoints.available()}
    told = " ".join(README.split())
    encoder, decoder = known["encoder-pre-4"], known["decoder-pre-4"]
    stories, spoken = (f"{100 * encoder[text]['top1']:.0f} %" for text in ("tinystories", "spoken_korean"))
    assert f"guesses {stories} right, in spoken Korean {spoken}" in told
    stories, spoken = (f"{math.exp(decoder[text]['loss']):.0f}" for text in ("tinystories", "spoken_korean"))
    assert f"perplexity is {stories} there and {spoken} here" in told
    translating = [figures for name, figures in known.items() if name.startswith("encoder-decoder")]
    exact = [figures["grammar"]["exact"] for figures in translating]
    assert f"{100 * min(exact):.0f} to {100 * max(exact):.0f} % come out exactly" in told
    assert all(figures["tatoeba"]["exact"] == 0 for figures in translating)
    assert round(len(lexicon.words()), -2) == 800 and "some 800 words" in told


def parsed(text: str) -> list[list]:
    """A configuration of nginx as directives: [word, ...], with the directives of its block last where it has one."""
    words = re.findall(r'"[^"]*"|[{};]|[^\s{};"]+', re.sub(r"#.*", "", text))
    stack: list[list] = [[]]
    line: list = []
    for word in words:
        if word == "{":
            stack.append([])
            stack[-2].append([*line, stack[-1]])
            line = []
        elif word in ";}":
            assert bool(line) == (word == ";"), f"a {word} too many, or too few, after {line}"
            stack[-1].append(line) if line else stack.pop()
            line = []
        else:
            line.append(word)
    assert len(stack) == 1 and not line, "a block is left open"
    return stack[0]


def test_nginx_asks_the_processes_that_are_started():
    found = parsed(NGINX)
    (upstream,) = (block for kind, *_, block in found if kind == "upstream")
    ports = [line[1].rpartition(":")[2] for line in upstream if line[0] == "server"]
    assert f"for port in {' '.join(ports)}; do" in README
    defined = {name for kind, _, name, _ in (line for line in found if line[0] == "map")}
    used = set(re.findall(r"\$explorer_\w+", NGINX))
    assert used == defined and [line[1] for line in upstream if line[0] == "hash"] == ["$explorer_reader"]
    with pytest.raises(AssertionError):
        parsed(NGINX + "}")
    with pytest.raises(AssertionError):
        parsed(NGINX.replace("8502;", "8502"))


def test_nginx_takes_its_configuration(tmp_path):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        pytest.skip("There is no nginx.")
    whole = tmp_path / "nginx.conf"
    served = re.sub(r"listen \d+", "listen 127.0.0.1:8080", NGINX)
    whole.write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{served}\n}}\n")
    told = subprocess.run([nginx, "-t", "-p", str(tmp_path), "-c", str(whole)], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr


def test_streamlit_knows_its_settings():
    (settings,) = map(tomllib.loads, blocks("toml"))
    known = config.get_options_for_section("server")
    assert settings["server"].keys() <= known.keys()
