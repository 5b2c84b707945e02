"""The pass of two stacks: two staves with the detours between them, the upper stack's vectors running down. Pure."""

from dataclasses import replace

from explorer.trace import Trace
from explorer.views.components.stave_layout import (
    WIDTH,
    Lines,
    Picture,
    Stack,
    Sublayer,
    View,
    after_sum,
    compact,
    entrance,
    grid,
    lines,
    look,
    origin,
    path_from,
    prediction,
    read,
    shortened,
    stave_norm,
    text_width,
    threads,
    tokens,
    window,
)

LEAST_WEIGHT = 0.07  # weaker curves between two texts are left out


def attention_between(
    picture: Picture, at: Lines, x: float, sublayer: Sublayer, hang: int, memory: Stack | None, side: float
) -> dict:
    """An attention detour in the space between two staves. Returns its plus, right end, and where memory enters."""
    trace, name, stack = picture.view.trace, sublayer.name, at.stack.name
    heads = trace[f"{name}.weights"].tensor.shape[0]
    source = memory.name if memory else stack
    view = picture.view
    key_window = window(len(view.tokens[source]), view.focus[source])
    keys = key_window[1] - key_window[0]
    n = at.count
    high, step = 32.0, 43.0
    gap = 6
    across, cell = grid(heads, n, keys, side, side, gap, 8)
    down = -(-heads // across)
    side_w, side_h = across * keys * cell + (across - 1) * gap, down * n * cell + (down - 1) * gap
    tall = 72 + side
    y0 = at.bottom + 14 if hang > 0 else at.top - 14 - tall
    order = ("Q", "K", "V") if hang > 0 else ("V", "K", "Q")
    rows = {
        letter: y0 + 32 + (side - 106) / 2 * (0 if i == 0 else 1 if i == 1 else 2) + i * step
        for i, letter in enumerate(order)
    }
    cx, px, pw = x + 20, x + 50, 40.0
    tx, size = px + pw + 13, 18.0
    mx, my = tx + size + 13, y0 + 34
    area = max(side_w, 60)
    circle = mx + area + 11
    ox, ow = circle + 13, 24.0
    ax = ox + ow / 2
    picture.add("ground", x=x, y=y0, w=ox + ow + 9 - x, h=tall)
    picture.text(px, y0 + 20, picture.word(sublayer.word), 12, p=sublayer.body[0], strong=True)

    # what is read, from the stave and from the memory
    branch = at.bottom + 14 + 8 if hang > 0 else at.top - 14 - 8
    edge = branch
    if sublayer.before:
        capsule = branch if hang > 0 else branch - 14
        motif = capsule + 17 if hang > 0 else capsule - 15
        picture.add("norm", x=cx - 17, y=capsule, w=34, h=14, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 16, y=motif, w=32, across=12)
        edge = motif + 12 if hang > 0 else motif
    read(picture, at, cx, branch, sublayer, hang)
    entries = {}
    for letter, value in (("Q", "queries"), ("K", "keys"), ("V", "values")):
        path = f"{name}.{value}"
        y, centre = rows[letter], rows[letter] + high / 2
        if origin(path, trace).split(".")[0] == stack:
            picture.arrow(path_from((cx, edge), (cx, centre), (px - 6, centre)), path)
        else:
            entries[letter] = (centre, path)
        picture.text(
            px - 8,
            centre - 6 if hang < 0 else centre + 13,
            [("W", "i"), (letter, "is")],
            11,
            "end",
            "second",
            path,
            parameter=f"{name}.w_{letter.lower()}.weight",
        )
        plate_stack = source if letter != "Q" else stack
        picture.plate(px, y, pw, high, path, plate_stack, bar=True, tick=letter == "Q" or memory is None)

    # products, scaled, masked, weights
    raw = f"{name}.raw_scores"
    steps = [f"{name}.{value}" for value, _ in picture.scores]
    pitch = (side - size) / 3
    places = [y0 + 34 + i * pitch for i in range(4)]
    if hang < 0:
        places.reverse()
    first = places[0] + size / 2
    q, k = rows["Q"] + high / 2, rows["K"] + high / 2
    join = px + pw + 6
    picture.arrow(path_from((px + pw + 2, k), (join, k), (join, first), (tx - 3, first), radius=4), raw, "key")
    picture.arrow(
        path_from((px + pw + 2, q - hang * 3), (join, q - hang * 3), (join, first), (tx - 3, first), radius=4),
        raw,
        "query",
    )
    for i, path in enumerate(steps):
        picture.maps(tx, places[i], size, size, path, stack, columns=source)
        if i:
            before, here = (places[i - 1] + size, places[i]) if hang > 0 else (places[i - 1], places[i] + size)
            picture.arrow(f"M{tx + size / 2:g} {before + hang * 2:g}V{here - hang * 2:g}", path)
    weights = f"{name}.weights"
    last = places[3] + size / 2
    picture.arrow(f"M{tx + size + 2:g} {last:g}H{mx - 4:g}", weights, "weight")
    shape = {"across": across, "cell": cell, "gap": gap}
    picture.maps(mx, my, side_w, side_h, weights, stack, **shape, named=False, focus=True, columns=source)

    # weighted sum, joined, out
    vy = rows["V"] + high / 2
    outer = y0 + tall - 11 if hang > 0 else y0 + 27
    z = f"{name}.heads"
    picture.arrow(
        path_from(
            (px + pw + 2, vy + hang * 6),
            (px + pw + 7, vy + hang * 6),
            (px + pw + 7, outer),
            (circle, outer),
            (circle, vy + hang * 9),
            radius=5,
        ),
        z,
        "value",
    )
    picture.arrow(f"M{mx + side_w + 2:g} {vy:g}H{circle - 9:g}", z, "weight")
    picture.add("circle", x=circle, y=vy, r=6.5, sign="×", p=z)
    picture.arrow(f"M{circle + 7:g} {vy:g}H{ox - 3:g}", z, "value", False)
    out = {"V": f"{name}.heads", "K": f"{name}.concat", "Q": f"{name}.output"}
    for letter, path in out.items():
        picture.plate(ox, rows[letter], ow, high, path, stack, bar=letter == "V")
    for start, stop in (("V", "K"), ("K", "Q")):
        a, b = (rows[start], rows[stop] + high) if hang > 0 else (rows[start] + high, rows[stop])
        picture.arrow(f"M{ax:g} {a - hang * (6 if start == 'V' and hang > 0 else 2):g}V{b + hang * 2:g}", out[stop])
    leave = rows["Q"] if hang > 0 else rows["Q"] + high
    picture.arrow(f"M{ax:g} {leave - hang * 3:g}V{at.bottom + 6 if hang > 0 else at.top - 6:g}", sublayer.sum)
    picture.plus(ax, at.top, at.bottom, sublayer.sum)
    return {"plus": ax, "end": ox + ow + 9, "cx": cx, "px": px, "entries": entries, "top": y0, "bottom": y0 + tall}


def chain_between(picture: Picture, at: Lines, x: float, sublayer: Sublayer, hang: int, side: float) -> dict:
    """A feed-forward detour in the space between two staves."""
    name, stack = sublayer.name, at.stack.name
    hidden, activated, output = sublayer.body
    tall = 72 + side
    y0 = at.bottom + 14 if hang > 0 else at.top - 14 - tall
    w = 100.0
    cx, cx2, pw = x + 22, x + w - 22, 40.0
    high = 40 + (side - 106) / 3

    def place(offset: float, height: float) -> float:
        """A part's top, measured from the stave outward."""
        return y0 + offset if hang > 0 else y0 + tall - offset - height

    picture.add("ground", x=x, y=y0, w=w, h=tall)
    picture.text(
        x + w / 2, y0 + (tall - 9 if hang > 0 else 18), picture.word(sublayer.word), 12, "middle", p=hidden, strong=True
    )
    start = at.bottom + 22 if hang > 0 else at.top - 22
    read(picture, at, cx, start, sublayer, hang)
    edge = start
    if sublayer.before:
        capsule = place(8, 14)
        motif = place(25, 14)
        picture.add("norm", x=cx - 17, y=capsule, w=34, h=14, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 16, y=motif, w=32, across=14)
        edge = motif + 14 if hang > 0 else motif
    top = place(62, high)
    near, far = (top, top + high) if hang > 0 else (top + high, top)
    picture.arrow(f"M{cx:g} {edge:g}V{near - hang * 4:g}", hidden)
    picture.text(
        cx + 6,
        near - hang * 10 + 4,
        [("W", "i"), ("1", "is")],
        11,
        None,
        "second",
        hidden,
        parameter=f"{name}.w_1.weight",
    )
    picture.plate(x + 6, top, pw, high, hidden, stack, tick=True)
    picture.plate(x + w - 6 - pw, top, pw, high, activated, stack)
    bend = place(62 + high + 8, 30) + 15
    middle = x + w / 2
    picture.arrow(path_from((cx, far + hang * 2), (cx, bend), (middle - 19, bend), radius=6), activated)
    picture.add("curve", x=middle - 16, y=bend - 14, w=32, h=28, p=activated)
    picture.arrow(path_from((middle + 16, bend), (cx2, bend), (cx2, far + hang * 3), radius=6), activated)
    out = place(25, 14)
    out_near, out_far = (out, out + 14) if hang > 0 else (out + 14, out)
    picture.arrow(f"M{cx2:g} {near - hang * 2:g}V{out_far + hang * 3:g}", output)
    picture.text(
        cx2 + 6,
        near - hang * 10 + 4,
        [("W", "i"), ("2", "is")],
        11,
        None,
        "second",
        output,
        parameter=f"{name}.w_2.weight",
    )
    picture.plate(cx2 - 16, out, 32, 14, output, stack)
    picture.arrow(f"M{cx2:g} {out_near - hang * 2:g}V{at.bottom + 6 if hang > 0 else at.top - 6:g}", sublayer.sum)
    picture.plus(cx2, at.top, at.bottom, sublayer.sum)
    return {"plus": cx2, "end": x + w}


def memory_of(trace: Trace, stack: Stack) -> str | None:
    """The vectors of another stack that this one's keys are made of, if any are."""
    keys = (origin(f"{sublayer.name}.keys", trace) for sublayer in stack.layers[0] if sublayer.attends)
    return next((path for path in keys if not path.startswith(f"{stack.name}.")), None)


def double(view: View, upper: Stack, lower: Stack) -> Picture:
    """The picture of a pass with two staves: detours between them, the upper stack's vectors running down."""
    picture = Picture(view, WIDTH)
    counts = [
        stop - start
        for start, stop in (window(len(view.tokens[stack.name]), view.focus[stack.name]) for stack in (upper, lower))
    ]
    pitch = min(17, max(12, int(272 / sum(counts))))
    side = min(max(106, 5 * max(counts) + 6 if max(counts) > 14 else 106), 150)
    tall = 72 + side
    above = lines(
        view, upper, pitch, 44 + (10 if window(len(view.tokens[upper.name]), view.focus[upper.name])[0] else 0)
    )
    lane_top = max(above.bottom + 14 + tall, above.top + 314)  # below the predictions at the right
    below_top = lane_top + 18 + tall + 14
    below = lines(view, lower, pitch, below_top)
    memory_end = memory_of(view.trace, lower)
    panel = 772.0

    ends = {}
    cross = None
    for at, hang in ((above, 1), (below, -1)):
        stack = at.stack
        name = picture.word(stack.name)
        label = at.top - 11 - (11 if at.start else 0)
        picture.text(0, label - 15, name, 13, strong=True)
        picture.text(0, label, picture.word(f"{stack.name}_text"), 12, tone="second")
        tokens(picture, at, 62, 92)
        symbol_y = at.top - 10 if hang > 0 else at.bottom + 18
        picture.text(
            105,
            symbol_y,
            [("E", "i")],
            12,
            "middle",
            p=f"{stack.name}.embedding.tokens",
            parameter=f"{stack.name}.embedding.weight",
        )
        x = entrance(picture, at, 100, hang, 48) + 10
        label_y = at.top - 10 if hang > 0 else at.bottom + 20
        for number in range(view.layer):
            x = compact(picture, at, x, number, hang, 36, label_y) + 6
        opened = x
        last = x
        for sublayer in stack.layers[view.layer]:
            if sublayer.attends:
                asked = origin(f"{sublayer.name}.keys", view.trace)
                memory = next((s for s in (upper, lower) if asked.startswith(f"{s.name}.") and s is not stack), None)
                placed = attention_between(picture, at, x, sublayer, hang, memory, side)
                if memory:
                    cross = (placed, sublayer)
            else:
                placed = chain_between(picture, at, x, sublayer, hang, side)
            after = after_sum(picture, at, placed["plus"] + 10, sublayer, True)
            last = placed["plus"]
            x = max(placed["end"] + 8, after + 8 - 20)
        x = max(placed["end"], after) + 8
        way = 1 if hang > 0 else -1
        edge = 5 if hang > 0 else at.bottom + 17
        if hang > 0:
            edge = at.top - 39
        picture.add("bracket", x0=opened, x1=last + 8, y=edge, way=way)
        picture.text(
            (opened + last) / 2,
            edge + 19 if hang > 0 else edge + 16,
            picture.word("opened", n=view.layer),
            12,
            "middle",
            "accent",
            strong=True,
        )
        for number in range(view.layer + 1, len(stack.layers)):
            x = compact(picture, at, x, number, hang, 36, label_y) + 6
        if stack.norm:
            x = stave_norm(picture, at, x, stack.norm, True) + 6
        ends[stack.name] = x

    # the upper stack's vectors, and their way to the lower stack's keys and values
    memory_x = ends[upper.name] + 14
    if memory_end:
        item = picture.strip(memory_x, 22, upper.name, memory_end, above.ys, above.strip)
        item["framed"] = True
        picture.text(memory_x + 11, above.top - 10, picture.word("memory"), 12, "middle", strong=True, p=memory_end)
    if cross:
        placed, sublayer = cross
        lane = lane_top + 9
        for i, (letter, (y, path)) in enumerate(sorted(placed["entries"].items(), key=lambda entry: entry[1][0])):
            shift = 3 if i == 0 else -3
            colour = {"K": "key", "V": "value", "Q": "query"}[letter]
            picture.arrow(
                path_from(
                    (memory_x + 11 + shift, above.bottom + 4),
                    (memory_x + 11 + shift, lane + shift),
                    (placed["cx"] + shift, lane + shift),
                    (placed["cx"] + shift, y),
                    (placed["px"] - 6, y),
                ),
                path,
                colour,
            )
    right = WIDTH - 10
    by = above.top + 220
    if cross:
        alignment(picture, above, below, cross[1], panel, WIDTH - panel)
    # there is room for three
    picture.view = replace(view, prediction=replace(view.prediction, best=view.prediction.best[:3]))
    prediction(picture, below, panel, by, right)
    threads(picture, below, 94, ends[lower.name] - 4, (right, by))
    threads(picture, above, 94, memory_x + (22 if memory_end else 12))
    picture.height = below.bottom + 36
    return picture


def alignment(picture: Picture, above: Lines, below: Lines, sublayer: Sublayer, x: float, width: float) -> None:
    """Who looks at whom: curves from the lower stack's tokens to the upper's, as wide as the heads' mean weight."""
    path = f"{sublayer.name}.weights"
    weights = picture.view.trace[path].tensor
    mean = weights.float().mean(0).tolist()
    y0 = above.top - 44
    number = int(sublayer.name.split(".")[2])
    picture.text(x, y0 + 18, picture.word("alignment"), 13, strong=True, p=path)
    picture.text(x, y0 + 34, picture.word("alignment_of", n=number, heads=weights.shape[0]), 11, tone="second", p=path)
    top, bottom = y0 + 50, y0 + 182
    strongest = max(range(above.start, above.stop), key=lambda j: mean[below.focus][j])
    upper = _row(picture, above, x, width, top, strongest, path)
    lower = _row(picture, below, x, width, bottom, below.focus, path)
    for focus in (False, True):
        for i, x1 in lower.items():
            if (i == below.focus) is not focus:
                continue
            for j, x0 in upper.items():
                weight = mean[i][j]
                if weight >= LEAST_WEIGHT:
                    d = f"M{x1:g} {bottom:g}C{x1:g} {bottom - 60:g} {x0:g} {top + 80:g} {x0:g} {top + 20:g}"
                    picture.add(
                        "ribbon", d=d, w=max(0.8, weight * 8), focus=focus, p=path, query=i, key=j, weight=weight
                    )
    picture.text(x + width, y0 + 34, picture.word("left_out"), 11, "end", "second", p=path)


def _row(picture: Picture, at: Lines, x: float, width: float, y: float, chosen: int, path: str) -> dict[int, float]:
    """A stack's tokens side by side; where they do not fit, ticks, with a chip for the chosen one."""
    chips = {i: picture.view.tokens[at.stack.name][i] for i in range(at.start, at.stop)}
    labels = {
        i: shortened(chip.text.partition(" ")[0] if chip.part else chip.text, 52, 11) for i, chip in chips.items()
    }
    widths = {i: max(14.0, text_width(label, 11) + 10) for i, label in labels.items()}
    if sum(widths.values()) + 2 * len(widths) > width:
        labels[chosen] = shortened(chips[chosen].text, 60, 11)
        pitch = (width - text_width(labels[chosen], 11) - 12) / len(chips)
        widths = {i: text_width(labels[i], 11) + 12 if i == chosen else min(7.0, pitch - 2) for i in chips}
    spare = width - sum(widths.values())
    gap = min(16, spare / max(1, len(widths) - 1))
    centres = {}
    for i, chip in chips.items():
        if widths[i] <= 7:
            picture.add("tick", x=x, y=y + 6, w=widths[i], h=8, p=path, stack=at.stack.name, position=i)
        else:
            picture.add(
                "chip",
                x=x,
                y=y,
                w=widths[i],
                h=20,
                small=True,
                stack=at.stack.name,
                position=i,
                text=labels[i],
                **look(chip),
                focus=at.focus == i and at.stack.name == picture.last,
                p=path,
            )
        centres[i] = x + widths[i] / 2
        x += widths[i] + gap
    return centres
