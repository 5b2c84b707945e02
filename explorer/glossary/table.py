"""The table: an entry for each kind of value and parameter, by the pattern of its path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from explorer.config import PAD
from explorer.glossary.forms import Allowed, Form, Given, Lookup, Masked, Softmax, Sum, Wave
from explorer.glossary.terms import Role, Words
from explorer.trace import Trace

Rule = Callable[[str, Trace], str]


@dataclass(frozen=True)
class Entry:
    """One kind of value or parameter.

    `formula` is for a vector, `cell` for one number of it (LaTeX, biases included, as torch stores the parameters);
    with a trace, {x} in them is what this pass read there. `reads` names each input by its part: the name beside it
    in the module, or a rule that finds its path in the trace.
    """

    symbol: str
    formula: str
    cell: str
    name: Words
    sentence: Words
    role: Role
    form: Form = Given()
    reads: Mapping[str, str | Rule] = field(default_factory=dict)


# Where an input is found: rules that read the order of the trace.


def module(path: str) -> str:
    return path.rpartition(".")[0]


def beside(path: str, name: str) -> str:
    """Another value or parameter of the same module."""
    return f"{module(path)}.{name}".lstrip(".")


def _residuals(stack: str, trace: Trace) -> list[str]:
    """A stack's residual connections, in the order of the pass."""
    return [module(path) for path in trace if path.startswith(f"{stack}.") and path.endswith("_residual.input")]


def _leaves(residual: str, trace: Trace) -> str:
    """What a residual connection hands on: its norm's output if that came after the sum, else the sum."""
    added, normed = f"{residual}.sum", f"{residual}.norm.output"
    return normed if trace.before(added, normed) else added


def _previous(path: str, trace: Trace) -> str:
    """The stream that arrives at a residual connection."""
    stack = path.split(".")[0]
    residuals = _residuals(stack, trace)
    number = residuals.index(module(path))
    return _leaves(residuals[number - 1], trace) if number else f"{stack}.embedding.output"


def _read(path: str, trace: Trace) -> str:
    """What a sublayer reads: its norm's output if that was there before it, else the stream."""
    residual = f"{module(path)}_residual"
    normed = f"{residual}.norm.output"
    return normed if trace.before(normed, path) else f"{residual}.input"


def _normed(path: str, trace: Trace) -> str:
    """What a norm reads: the sum if that was there before it, else the stream; at a stack's end, its last stream."""
    owner = module(module(path))
    if not owner.endswith("_residual"):
        return _leaves(_residuals(owner, trace)[-1], trace)
    return f"{owner}.sum" if trace.before(f"{owner}.sum", path) else f"{owner}.input"


def _end(stack: str, trace: Trace) -> str:
    """A stack's last vectors."""
    normed = f"{stack}.norm.output"
    return normed if normed in trace else _leaves(_residuals(stack, trace)[-1], trace)


def _stacks(trace: Trace) -> list[str]:
    return [module(module(path)) for path in trace if path.endswith(".embedding.ids")]


def _memory(path: str, trace: Trace) -> str:
    """The output of the stack that ran first."""
    return _end(_stacks(trace)[0], trace)


def _last(path: str, trace: Trace) -> str:
    """The output of the stack that ran last."""
    return _end(_stacks(trace)[-1], trace)


def _sublayer_output(path: str, trace: Trace) -> str:
    return f"{module(path).removesuffix('_residual')}.output"


def _own_ids(path: str, trace: Trace) -> str:
    return f"{path.split('.')[0]}.embedding.ids"


def _memory_ids(path: str, trace: Trace) -> str:
    return f"{_stacks(trace)[0]}.embedding.ids"


def _table(path: str, trace: Trace) -> str:
    return f"{_stacks(trace)[-1]}.embedding.weight"


def _linear(result: str, weight: str, x: str) -> Sum:
    """W x + b: each row of the weights times the vector, and a bias."""
    rows = weight[:-1]
    return Sum(result, ((("weight", weight), ("x", x)), (("bias", rows),)))


def _words(en: str, ko: str) -> Words:
    return {"en": en, "ko": ko}


_ATTENTION_NAMES = {
    "queries": _words("queries", "쿼리"),
    "keys": _words("keys", "키"),
    "values": _words("values", "값"),
    "raw_scores": _words("raw scores", "나누기 전 점수"),
    "scores": _words("scores", "점수"),
    "allowed": _words("what is allowed", "볼 수 있는 곳"),
    "masked_scores": _words("masked scores", "가린 점수"),
    "weights": _words("attention weights", "어텐션 가중치"),
    "heads": _words("head outputs", "헤드의 출력"),
    "concat": _words("heads joined", "이어 붙인 헤드"),
    "output": _words("attention output", "어텐션의 출력"),
}


def _attention(sentences: Mapping[str, Words], causal: bool, crossing: bool) -> dict[str, Entry]:
    """The eleven values of an attention; `sentences` in their order."""
    stream = {"x": _read}
    asked = {"x": _memory} if crossing else stream
    ids = {} if causal else {"ids": _memory_ids if crossing else _own_ids}
    mask = r"[\,j \le i\,]" if causal else rf"[\,t_j \ne {PAD}\,]"
    asked_symbol = "M_j" if crossing else "{x}_j"
    softmax = r"\frac{e^{\tilde s_{ij}}}{\sum_{j'} e^{\tilde s_{ij'}}}"

    def linear(letter: str, width: str, position: str, x: str, reads, role: Role) -> dict:
        subscript = letter.upper()
        one = x[-1]
        many = f"{x[:-2]}_{{{one}m}}"
        return {
            "symbol": letter,
            "formula": f"{letter}_{one} = W_{subscript} {x} + b_{subscript}",
            "cell": rf"{letter}_{{{one}c}} = \sum_m W_{{{subscript},cm}}\, {many} + b_{{{subscript},c}}",
            "role": role,
            "form": _linear(f"h{position}{width}", f"(h{width})d", f"{position}d"),
            "reads": {**reads, "weight": f"w_{letter}.weight", "bias": f"w_{letter}.bias"},
        }

    facts = {
        "queries": linear("q", "c", "q", "{x}_i", stream, "query"),
        "keys": linear("k", "c", "k", asked_symbol, asked, "key"),
        "values": linear("v", "v", "k", asked_symbol, asked, "value"),
        "raw_scores": {
            "symbol": "r",
            "formula": r"r_{ij} = q_i \cdot k_j",
            "cell": r"r_{ij} = \sum_c q_{ic}\, k_{jc}",
            "role": "score",
            "form": Sum("hqk", ((("queries", "hqc"), ("keys", "hkc")),)),
            "reads": {"queries": "queries", "keys": "keys"},
        },
        "scores": {
            "symbol": "s",
            "formula": r"s_{ij} = \frac{r_{ij}}{\sqrt{d_k}}",
            "cell": r"s_{ij} = \frac{r_{ij}}{\sqrt{d_k}}",
            "role": "score",
            "form": Sum("hqk", ((("raw_scores", "hqk"),),), ("root of d_k", "")),
            "reads": {"raw_scores": "raw_scores"},
        },
        "allowed": {
            "symbol": "A",
            "formula": rf"A_{{ij}} = {mask}",
            "cell": rf"A_{{ij}} = {mask}",
            "role": "mask",
            "form": Allowed(causal),
            "reads": ids,
        },
        "masked_scores": {
            "symbol": r"\tilde s",
            "formula": r"\tilde s_{ij} = \begin{cases} s_{ij} & A_{ij} = 1 \\ -\infty & A_{ij} = 0 \end{cases}",
            "cell": r"\tilde s_{ij} = \begin{cases} s_{ij} & A_{ij} = 1 \\ -\infty & A_{ij} = 0 \end{cases}",
            "role": "score",
            "form": Masked(),
            "reads": {"scores": "scores", "allowed": "allowed"},
        },
        "weights": {
            "symbol": r"\alpha",
            "formula": rf"\alpha_{{ij}} = {softmax}",
            "cell": rf"\alpha_{{ij}} = {softmax}",
            "role": "weight",
            "form": Softmax(),
            "reads": {"scores": "masked_scores"},
        },
        "heads": {
            "symbol": "z",
            "formula": r"z_i = \sum_j \alpha_{ij}\, v_j",
            "cell": r"z_{ic} = \sum_j \alpha_{ij}\, v_{jc}",
            "role": "value",
            "form": Sum("hqv", ((("weights", "hqk"), ("values", "hkv")),)),
            "reads": {"weights": "weights", "values": "values"},
        },
        "concat": {
            "symbol": "Z",
            "formula": r"Z = [\, z^{(0)};\; z^{(1)};\; \dots \,]",
            "cell": r"Z_{h d_v + c} = z^{(h)}_c",
            "role": "value",
            "form": Sum("q(hv)", ((("heads", "hqv"),),)),
            "reads": {"heads": "heads"},
        },
        "output": {
            "symbol": "a",
            "formula": "a = W_O Z + b_O",
            "cell": r"a_c = \sum_m W_{O,cm}\, Z_m + b_{O,c}",
            "role": "signed",
            "form": _linear("qo", "od", "qd"),
            "reads": {"x": "concat", "weight": "w_o.weight", "bias": "w_o.bias"},
        },
    }
    return {name: Entry(name=_ATTENTION_NAMES[name], sentence=sentences[name], **fact) for name, fact in facts.items()}


_SHARED_SENTENCES = {
    "scores": _words(
        "Each raw score is divided by the root of a head's width, so that scores do not grow with that width.",
        "점수가 헤드의 너비에 따라 커지지 않도록, 너비의 제곱근으로 나눕니다.",
    ),
    "concat": _words(
        "The heads' outputs for a position are written one after the other into one vector.",
        "한 위치에서 나온 여러 헤드의 출력을 차례로 이어 붙여 벡터 하나로 만듭니다.",
    ),
}

_SELF_SENTENCES = _SHARED_SENTENCES | {
    "queries": _words(
        "Each position's vector is projected to a query in each head: what this position looks for.",
        "위치마다 그 벡터를 헤드별로 사영하여, 이 위치가 무엇을 찾는지를 나타내는 쿼리(query)를 만듭니다.",
    ),
    "keys": _words(
        "The same vector is projected to a key: what this position can be found by.",
        "같은 벡터를 사영하여, 다른 위치가 이 위치를 찾을 때 단서로 쓰는 키(key)를 만듭니다.",
    ),
    "values": _words(
        "The same vector is projected to a value: what this position hands over when it is looked at.",
        "같은 벡터를 사영하여, 이 위치를 볼 때 건네줄 내용인 값(value)을 만듭니다.",
    ),
    "raw_scores": _words(
        "Each query is multiplied with each key, number by number, and summed: how well the two fit.",
        "쿼리와 키를 성분끼리 곱해 모두 더하여, 둘이 얼마나 잘 맞는지를 구합니다.",
    ),
    "heads": _words(
        "Each head averages the values of the positions that it looks at, by its attention weights.",
        "헤드마다 바라보는 위치들의 값을 어텐션 가중치로 가중 평균합니다.",
    ),
    "output": _words(
        "One more linear map mixes what the heads found into a vector as wide as the stream.",
        "선형 변환을 한 번 더 하여, 헤드들이 찾은 것을 스트림과 너비가 같은 벡터 하나로 섞습니다.",
    ),
}

_ENCODER_SENTENCES = _SELF_SENTENCES | {
    "allowed": _words(
        "In the encoder every position may look at every other, before and after it; only padding is left out.",
        "인코더에서는 모든 위치가 앞뒤의 모든 위치를 볼 수 있으며, 패딩만 제외합니다.",
    ),
    "masked_scores": _words(
        "Scores of padding become minus infinity; all others stay as they are.",
        "패딩의 점수는 음의 무한대로 바꾸고, 나머지 점수는 그대로 둡니다.",
    ),
    "weights": _words(
        "Softmax turns each query's scores into shares between 0 and 1 that sum to 1: how much it looks where.",
        "소프트맥스(softmax)가 쿼리마다 점수를 합이 1인 비율로 바꾸어, 어디를 얼마나 볼지를 정합니다.",
    ),
}

_DECODER_SENTENCES = _SELF_SENTENCES | {
    "allowed": _words(
        "In the decoder a position may look at itself and at what stands before it, never at what comes later.",
        "디코더에서는 각 위치가 자기 자신과 앞쪽만 볼 수 있고, 뒤쪽은 볼 수 없습니다.",
    ),
    "masked_scores": _words(
        "Scores of later positions become minus infinity, so that nothing of the future gets through.",
        "뒤에 오는 위치의 점수를 음의 무한대로 바꾸어, 미래의 내용이 새어 들어오지 않게 합니다.",
    ),
    "weights": _words(
        "Softmax turns each query's scores into shares that sum to 1; what is masked gets exactly 0.",
        "소프트맥스(softmax)가 쿼리마다 점수를 합이 1인 비율로 바꾸며, 가려진 위치는 정확히 0이 됩니다.",
    ),
}

_CROSS_SENTENCES = _SHARED_SENTENCES | {
    "queries": _words(
        "Cross-attention takes its queries from the decoder: what each target position looks for in the source.",
        "교차 어텐션(cross-attention)의 쿼리는 디코더에서 나오며, 번역문의 각 위치가 원문에서 찾는 것을 나타냅니다.",
    ),
    "keys": _words(
        "The keys come from the encoder's output, the memory: what each source position can be found by.",
        "키는 인코더의 출력인 메모리(memory)에서 나오며, 원문의 각 위치를 찾는 단서가 됩니다.",
    ),
    "values": _words(
        "The values come from the memory too: what each source position hands over to the decoder.",
        "값도 메모리에서 나오며, 원문의 각 위치가 디코더에 건네줄 내용입니다.",
    ),
    "raw_scores": _words(
        "Each decoder query is multiplied with each encoder key and summed: how well target and source fit.",
        "디코더의 쿼리와 인코더의 키를 성분끼리 곱해 모두 더하여, 번역문과 원문이 얼마나 잘 맞는지를 구합니다.",
    ),
    "allowed": _words(
        "Every target position may look at the whole source text; only padding is left out.",
        "번역문의 모든 위치가 원문 전체를 볼 수 있으며, 패딩만 제외합니다.",
    ),
    "masked_scores": _words(
        "Scores of the source's padding become minus infinity; all others stay as they are.",
        "원문에 있는 패딩의 점수는 음의 무한대로 바꾸고, 나머지 점수는 그대로 둡니다.",
    ),
    "weights": _words(
        "Softmax turns each target position's scores into shares of the source text that sum to 1.",
        "소프트맥스(softmax)가 번역문의 위치마다 점수를 합이 1인 비율로 바꾸어, 원문의 어디를 얼마나 볼지를 정합니다.",
    ),
    "heads": _words(
        "Each head averages the source positions' values by its weights: what the decoder takes from the source.",
        "헤드마다 원문 위치들의 값을 가중치로 가중 평균하며, 이것이 디코더가 원문에서 가져오는 내용입니다.",
    ),
    "output": _words(
        "One more linear map mixes what the heads found in the source into a vector as wide as the stream.",
        "선형 변환을 한 번 더 하여, 헤드들이 원문에서 찾은 것을 스트림과 너비가 같은 벡터 하나로 섞습니다.",
    ),
}


def _norm(mean: Words, variance: Words, normalised: Words, output: Words, role_of_x: Rule) -> dict[str, Entry]:
    """The four values of a layer norm; the sentences say whose."""
    x = {"x": role_of_x}
    own = {"mean": "mean"}
    difference = ("x - mean", "pd - p1")
    return {
        "mean": Entry(
            symbol=r"\mu",
            formula=r"\mu = \frac{1}{d_{\text{model}}} \sum_c {x}_c",
            cell=r"\mu_i = \frac{1}{d_{\text{model}}} \sum_c {x}_{ic}",
            name=_words("mean", "평균"),
            sentence=mean,
            role="signed",
            form=Sum("p1", ((("x", "pd"),),), ("d_model", "")),
            reads=x,
        ),
        "variance": Entry(
            symbol=r"\sigma^2",
            formula=r"\sigma^2 = \frac{1}{d_{\text{model}}} \sum_c ({x}_c - \mu)^2",
            cell=r"\sigma^2_i = \frac{1}{d_{\text{model}}} \sum_c ({x}_{ic} - \mu_i)^2",
            name=_words("variance", "분산"),
            sentence=variance,
            role="signed",
            form=Sum("p1", ((difference, difference),), ("d_model", "")),
            reads=x | own,
        ),
        "normalised": Entry(
            symbol=r"\hat x",
            formula=r"\hat x = \frac{{x} - \mu}{\sqrt{\sigma^2 + \epsilon}}",
            cell=r"\hat x_{ic} = \frac{{x}_{ic} - \mu_i}{\sqrt{\sigma^2_i + \epsilon}}",
            name=_words("normalised", "정규화한 값"),
            sentence=normalised,
            role="signed",
            form=Sum("pd", ((difference,),), ("deviation of variance", "p1")),
            reads=x | own | {"variance": "variance"},
        ),
        "output": Entry(
            symbol=r"\bar x",
            formula=r"\bar x = \gamma \odot \hat x + \beta",
            cell=r"\bar x_{ic} = \gamma_c\, \hat x_{ic} + \beta_c",
            name=_words("normed stream", "정규화한 스트림"),
            sentence=output,
            role="signed",
            form=Sum("pd", ((("gain", "d"), ("normalised", "pd")), (("shift", "d"),))),
            reads={"normalised": "normalised", "gain": "weight", "shift": "bias"},
        ),
    }


NORM_BEFORE = {  # in place of the general sentence where the norm stands before the sublayer
    "mean": _words(
        "Layer norm before the sublayer: the mean of each position's vector, to be taken off a copy of the stream.",
        "서브층 앞의 층 정규화(layer normalization)입니다. 위치마다 벡터의 평균을 구하며, 스트림의 사본에서 뺍니다.",
    ),
    "output": _words(
        "Each number is stretched and shifted as learned: this copy is what the sublayer reads; the stream stays as "
        "it was.",
        "성분마다 학습한 배율을 곱하고 이동량을 더합니다. 서브층은 이 사본을 읽고, 스트림 자체는 그대로 남습니다.",
    ),
}
NORM_AFTER = {
    "mean": _words(
        "Layer norm after the sum: the mean of each position's vector, to be taken off the stream itself.",
        "덧셈 뒤의 층 정규화(layer normalization)입니다. 위치마다 벡터의 평균을 구하며, 스트림 자체에서 뺍니다.",
    ),
    "output": _words(
        "Each number is stretched and shifted as learned, and the stream goes on with the result.",
        "성분마다 학습한 배율을 곱하고 이동량을 더하며, 스트림은 이 결과로 이어집니다.",
    ),
}


def _residual(name: Words, output: str, sentence: Words) -> dict[str, Entry]:
    """The stream at a sublayer, before it and with its output added."""
    return {
        "input": Entry(
            symbol="x",
            formula=r"x \leftarrow {x}",
            cell=r"x_{ic} \leftarrow {x}_{ic}",
            name=_words("stream", "스트림"),
            sentence=_words(
                "The residual stream arrives: one vector for each position, carried from sublayer to sublayer.",
                "잔차 스트림(residual stream)의 벡터가 위치마다 하나씩 앞의 서브층(sublayer)에서 들어옵니다.",
            ),
            role="signed",
            form=Sum("pd", ((("x", "pd"),),)),
            reads={"x": _previous},
        ),
        "sum": Entry(
            symbol="x'",
            formula=f"x' = x + {output}",
            cell=f"x'_{{ic}} = x_{{ic}} + {output}_{{ic}}",
            name=name,
            sentence=sentence,
            role="signed",
            form=Sum("pd", ((("stream", "pd"),), (("output", "pd"),))),
            reads={"stream": "input", "output": _sublayer_output},
        ),
    }


def _under(prefix: str, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    return {f"{prefix}.{name}": entry for name, entry in entries.items()}


def _parameter(symbol: str, en: str, ko: str, use_en: str, use_ko: str) -> Entry:
    return Entry(
        symbol=symbol,
        formula=symbol,
        cell=symbol,
        name=_words(en, ko),
        sentence=_words(f"Learned in training: {use_en}.", f"학습으로 얻은 값으로, {use_ko}."),
        role="parameter",
    )


def _projection(name: str, letter: str, en: str, ko: str, use_en: str, use_ko: str) -> dict[str, Entry]:
    return {
        f"*.{name}.weight": _parameter(f"W_{letter}", f"{en} matrix", f"{ko} 행렬", use_en, use_ko),
        f"*.{name}.bias": _parameter(
            f"b_{letter}", f"{en} bias", f"{ko} 편향", f"added after W_{letter}", "행렬을 곱한 뒤에 더합니다"
        ),
    }


TABLE: Mapping[str, Entry] = {  # by pattern of the path; the first that fits
    "*.embedding.ids": Entry(
        symbol="t",
        formula=r"t_i \in \{0, 1, \dots\}",
        cell="t_i",
        name=_words("token ids", "토큰 번호"),
        sentence=_words(
            "The text as the model receives it: cut into tokens, each written as its number in the vocabulary.",
            "모델이 받는 글입니다. 토큰으로 나누고, 토큰마다 어휘에서의 번호로 적습니다.",
        ),
        role="id",
    ),
    "*.embedding.tokens": Entry(
        symbol="e",
        formula="e_i = E_{t_i}",
        cell="e_{ic} = E_{t_i,\\,c}",
        name=_words("token embeddings", "토큰 임베딩"),
        sentence=_words(
            "Each id picks its row of the embedding matrix: the vector that stands for this token.",
            "번호마다 임베딩(embedding) 행렬에서 해당하는 행을 골라, 그 토큰을 나타내는 벡터로 삼습니다.",
        ),
        role="signed",
        form=Lookup(),
        reads={"ids": "ids", "table": "weight"},
    ),
    "*.embedding.scaled": Entry(
        symbol=r"\tilde e",
        formula=r"\tilde e = \sqrt{d_{\text{model}}}\; e",
        cell=r"\tilde e_{ic} = \sqrt{d_{\text{model}}}\; e_{ic}",
        name=_words("scaled embeddings", "크기를 조정한 임베딩"),
        sentence=_words(
            "The vectors are multiplied by the root of their width, so that the positions to come do not drown them.",
            "다음에 더할 위치 벡터에 묻히지 않도록, 벡터에 너비의 제곱근을 곱합니다.",
        ),
        role="signed",
        form=Sum("pd", ((("tokens", "pd"), ("root of d_model", "")),)),
        reads={"tokens": "tokens"},
    ),
    "*.embedding.positions": Entry(
        symbol="p",
        formula=r"p_{i,2n} = \sin\frac{i}{10000^{2n/d_{\text{model}}}}, \quad "
        r"p_{i,2n+1} = \cos\frac{i}{10000^{2n/d_{\text{model}}}}",
        cell=r"p_{i,2n} = \sin\frac{i}{10000^{2n/d_{\text{model}}}}, \quad "
        r"p_{i,2n+1} = \cos\frac{i}{10000^{2n/d_{\text{model}}}}",
        name=_words("positions", "위치"),
        sentence=_words(
            "Each place in the text has its own pattern of sine and cosine waves, whatever token stands there.",
            "어떤 토큰이 오든, 위치마다 사인파와 코사인파로 이루어진 고유한 벡터가 있습니다.",
        ),
        role="signed",
        form=Wave(),
    ),
    "*.embedding.output": Entry(
        symbol="x",
        formula=r"x = \tilde e + p",
        cell=r"x_{ic} = \tilde e_{ic} + p_{ic}",
        name=_words("stream at the entrance", "입구의 스트림"),
        sentence=_words(
            "Token and position are added: with this vector each position's residual stream begins.",
            "토큰과 위치를 더합니다. 이 벡터에서 각 위치의 잔차 스트림(residual stream)이 시작합니다.",
        ),
        role="signed",
        form=Sum("pd", ((("scaled", "pd"),), (("positions", "pd"),))),
        reads={"scaled": "scaled", "positions": "positions"},
    ),
    **_under("encoder.*.self_attention", _attention(_ENCODER_SENTENCES, causal=False, crossing=False)),
    **_under("decoder.*.self_attention", _attention(_DECODER_SENTENCES, causal=True, crossing=False)),
    **_under("decoder.*.cross_attention", _attention(_CROSS_SENTENCES, causal=False, crossing=True)),
    "*.feed_forward.hidden": Entry(
        symbol="h",
        formula="h = W_1 {x} + b_1",
        cell=r"h_c = \sum_m W_{1,cm}\, {x}_m + b_{1,c}",
        name=_words("hidden", "은닉값"),
        sentence=_words(
            "The feed-forward layer compares each position's vector with many learned directions, one number for each.",
            "피드포워드(feed-forward) 층이 위치마다 벡터를, 학습으로 얻은 여러 방향과 견주어 수를 하나씩 냅니다.",
        ),
        role="signed",
        form=_linear("pf", "fd", "pd"),
        reads={"x": _read, "weight": "w_1.weight", "bias": "w_1.bias"},
    ),
    "*.feed_forward.activated": Entry(
        symbol="g",
        formula=r"g = \phi(h)",
        cell=r"g_c = \phi(h_c)",
        name=_words("activated", "활성값"),
        sentence=_words(
            "The bend: large positive numbers pass, negative ones are pushed to zero or close to it.",
            "꺾는 단계입니다. 큰 양수는 그대로 지나가고, 음수는 0이나 0에 가까운 값이 됩니다.",
        ),
        role="signed",
        form=Sum("pf", ((("hidden", "pf"), ("gate of hidden", "pf")),)),
        reads={"hidden": "hidden"},
    ),
    "*.feed_forward.output": Entry(
        symbol="f",
        formula="f = W_2 g + b_2",
        cell=r"f_c = \sum_m W_{2,cm}\, g_m + b_{2,c}",
        name=_words("feed-forward output", "피드포워드의 출력"),
        sentence=_words(
            "Each number that is left multiplies its learned vector, and these are added up, for each position alone.",
            "학습한 벡터마다 활성값을 곱한 다음 모두 더합니다. 위치마다 따로 계산합니다.",
        ),
        role="signed",
        form=_linear("pd", "df", "pf"),
        reads={"x": "activated", "weight": "w_2.weight", "bias": "w_2.bias"},
    ),
    **_under(
        "*_residual.norm",
        _norm(
            mean=_words(
                "Layer norm, first step: the mean of each position's vector.",
                "층 정규화(layer normalization)의 첫 단계로, 위치마다 벡터의 평균을 구합니다.",
            ),
            variance=_words(
                "Layer norm: how far the numbers of each position spread around their mean, squared and averaged.",
                "층 정규화에서, 위치마다 수들이 평균에서 얼마나 퍼져 있는지를 제곱하여 평균합니다.",
            ),
            normalised=_words(
                "The mean is taken off and the spread divided out: each position now has mean 0 and variance 1.",
                "평균을 빼고 표준 편차로 나누어, 위치마다 평균이 0이고 분산이 1이 되게 합니다.",
            ),
            output=_words(
                "Each number is stretched and shifted as learned.",
                "성분마다 학습한 배율을 곱하고 이동량을 더합니다.",
            ),
            role_of_x=_normed,
        ),
    ),
    **_under(
        "*.norm",
        _norm(
            mean=_words(
                "One last layer norm at the end of the stack: the mean of each position's vector.",
                "스택의 끝에 있는 마지막 층 정규화(layer normalization)로, 위치마다 벡터의 평균을 구합니다.",
            ),
            variance=_words(
                "The last norm: how far the numbers of each position spread around their mean, squared and averaged.",
                "마지막 층 정규화에서, 위치마다 수들이 평균에서 얼마나 퍼져 있는지를 제곱하여 평균합니다.",
            ),
            normalised=_words(
                "The mean is taken off and the spread divided out, for the first time on the stream itself.",
                "평균을 빼고 표준 편차로 나눕니다. 스트림 자체를 정규화하는 것은 여기가 처음입니다.",
            ),
            output=_words(
                "Each number is stretched and shifted as learned: these vectors are the stack's output.",
                "성분마다 학습한 배율을 곱하고 이동량을 더합니다. 이 벡터들이 스택의 출력입니다.",
            ),
            role_of_x=_normed,
        ),
    ),
    **_under(
        "*.self_attention_residual",
        _residual(
            _words("stream after self-attention", "셀프 어텐션을 더한 스트림"),
            "a",
            _words(
                "What self-attention found is added to the stream; what was there stays.",
                "셀프 어텐션(self-attention)이 찾은 것을 스트림에 더하며, 있던 것은 그대로 남습니다.",
            ),
        ),
    ),
    **_under(
        "*.cross_attention_residual",
        _residual(
            _words("stream after cross-attention", "교차 어텐션을 더한 스트림"),
            "a",
            _words(
                "What cross-attention fetched from the source is added to the decoder's stream.",
                "교차 어텐션이 원문에서 가져온 것을 디코더의 스트림에 더합니다.",
            ),
        ),
    ),
    **_under(
        "*.feed_forward_residual",
        _residual(
            _words("stream after feed-forward", "피드포워드를 더한 스트림"),
            "f",
            _words(
                "What the feed-forward layer worked out is added to the stream, and the layer is done.",
                "피드포워드 층이 계산한 것을 스트림에 더하면 한 층이 끝납니다.",
            ),
        ),
    ),
    "logits": Entry(
        symbol=r"\ell",
        formula=r"\ell = E\, {x}",
        cell=r"\ell_t = \sum_m E_{tm}\, {x}_m",
        name=_words("logits", "로짓"),
        sentence=_words(
            "Each position's last vector is multiplied with the embedding of every token: one score for each token.",
            "위치마다 마지막 벡터와 모든 토큰의 임베딩을 내적하여, 토큰마다 점수인 로짓(logit)을 구합니다.",
        ),
        role="signed",
        form=Sum("pt", ((("table", "td"), ("x", "pd")),)),
        reads={"x": _last, "table": _table},
    ),
    "probabilities": Entry(
        symbol="P",
        formula=r"P_t = \frac{e^{\ell_t}}{\sum_{t'} e^{\ell_{t'}}}",
        cell=r"P_t = \frac{e^{\ell_t}}{\sum_{t'} e^{\ell_{t'}}}",
        name=_words("probabilities", "확률"),
        sentence=_words(
            "Softmax turns the scores of all tokens into probabilities that sum to 1: the model's prediction.",
            "소프트맥스(softmax)가 모든 토큰의 로짓을 합이 1인 확률로 바꾸며, 이것이 모델의 예측입니다.",
        ),
        role="probability",
        form=Softmax(),
        reads={"scores": "logits"},
    ),
    "*.embedding.weight": _parameter(
        "E",
        "embedding matrix",
        "임베딩 행렬",
        "a row for each token, read at the entrance and again for the logits",
        "토큰마다 행이 하나씩 있으며 들어올 때와 로짓을 구할 때 모두 쓰입니다",
    ),
    **_projection(
        "w_q",
        "Q",
        "query",
        "쿼리",
        "makes queries; the heads' matrices one below the other",
        "쿼리를 만들며 헤드들의 행렬이 위아래로 놓여 있습니다",
    ),
    **_projection(
        "w_k",
        "K",
        "key",
        "키",
        "makes keys; the heads' matrices one below the other",
        "키를 만들며 헤드들의 행렬이 위아래로 놓여 있습니다",
    ),
    **_projection(
        "w_v",
        "V",
        "value",
        "값",
        "makes values; the heads' matrices one below the other",
        "값을 만들며 헤드들의 행렬이 위아래로 놓여 있습니다",
    ),
    **_projection("w_o", "O", "output", "출력", "mixes what the heads found", "헤드들이 찾은 것을 섞습니다"),
    **_projection(
        "w_1",
        "1",
        "first feed-forward",
        "피드포워드 첫째",
        "each row is a direction that vectors are compared with",
        "행마다 벡터와 견줄 방향이 하나씩 들어 있습니다",
    ),
    **_projection(
        "w_2",
        "2",
        "second feed-forward",
        "피드포워드 둘째",
        "each column is a vector, written as strongly as its number says",
        "열마다 활성값을 곱해 더할 벡터가 하나씩 들어 있습니다",
    ),
    "*norm.weight": _parameter(
        r"\gamma", "gain", "배율", "stretches each place of the normalised vector", "정규화한 벡터의 성분마다 곱합니다"
    ),
    "*norm.bias": _parameter(
        r"\beta", "shift", "이동량", "shifts each place of the normalised vector", "정규화한 벡터의 성분마다 더합니다"
    ),
}
