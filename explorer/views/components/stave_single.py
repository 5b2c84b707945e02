"""The pass of a single stack: one stave, from which the open layer's detours hang with room. Pure."""

from explorer.views.components.stave_layout import (
    WIDTH,
    Lines,
    Picture,
    Stack,
    Sublayer,
    View,
    after_sum,
    chain_arrow,
    compact,
    entrance,
    grid,
    lines,
    path_from,
    prediction,
    read,
    stave_norm,
    threads,
    tokens,
    window,
)


def attention_with_room(
    picture: Picture, at: Lines, x: float, sublayer: Sublayer, plate_width: float, wide_maps: bool
) -> tuple:
    """An attention detour that hangs from a single stave. Returns its plus, its right end and its lower end."""
    view, name, stack = picture.view, sublayer.name, at.stack.name
    trace = view.trace
    heads, queries, keys = trace[f"{name}.weights"].tensor.shape
    y1, n = at.bottom, at.count
    high = min(max(7 * n, 62), 84 if n <= 14 else 104)
    rows = [y1 + 76 + i * (high + 29) for i in range(3)]  # queries, keys, values
    cx, px = x + 30, x + 64
    room = rows[2] + high / 2 - 34 - (y1 + 104)
    area = 204.0
    corner = not bool(trace[f"{name}.allowed"].tensor[at.start, at.stop - 1])
    lift = 0 if corner else 13  # where the corner of a map is not masked, its head's number stands above it
    across, cell = grid(heads, n, n, area, room, 10, 14, lift)
    if cell < 6 and wide_maps:
        area = 258.0
        across, cell = grid(heads, n, n, area, room, 10, 14, lift)
    mx = px + plate_width + 46
    down = -(-heads // across)
    gap = 10
    side_w = across * n * cell + (across - 1) * gap
    side_h = down * n * cell + (down - 1) * (gap + lift)
    area = max(min(area, side_w), 204)
    hx = mx + area + (18 if area == 204 else 25)
    ground = picture.add("ground", x=x, y=y1 + 14, w=hx + 46 + 14 - x, h=rows[2] + high + 28 - y1 - 14)

    branch = y1 + 32
    if sublayer.before:
        read(picture, at, cx, branch, sublayer, 1)
        picture.add("norm", x=cx - 22, y=branch, w=44, h=18, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 22, y=branch + 22, w=44, across=24)
        branch += 48
    else:
        read(picture, at, cx, branch, sublayer, 1)
    picture.text(px, y1 + 34, picture.word(sublayer.word), 13, p=sublayer.body[0], strong=True)
    picture.text(px, y1 + 49, picture.word(f"{sublayer.word}_does"), 11, tone="second", p=sublayer.body[0])
    for (letter, value), y in zip((("Q", "queries"), ("K", "keys"), ("V", "values")), rows, strict=True):
        path = f"{name}.{value}"
        centre = y + high / 2
        picture.arrow(path_from((cx, branch), (cx, centre), (px - 7, centre)), path)
        picture.weight(cx + 7, centre + 15, letter, f"{name}.w_{letter.lower()}.weight", path)
        picture.plate(px, y, plate_width, high, path, stack, bar=True, tick=True)
        picture.text(px, y - 10, [(letter, f"i{letter.lower()}"), (f" {picture.word(value)}", letter.lower())], p=path)

    # queries meet keys; four steps from their products to the weights
    nx, ny = px + plate_width + 17, rows[1] - 15
    raw = f"{name}.raw_scores"
    picture.arrow(
        path_from((px + plate_width + 3, rows[0] + high / 2), (nx, rows[0] + high / 2), (nx, ny - 12)), raw, "query"
    )
    picture.arrow(
        path_from((px + plate_width + 3, rows[1] + high / 2), (nx, rows[1] + high / 2), (nx, ny + 12)), raw, "key"
    )
    picture.add("circle", x=nx, y=ny, r=9.5, sign="·", p=raw)
    ty, size = y1 + 34, 34.0
    gutter = (204 - 4 * size) / 3
    picture.arrow(
        path_from((nx + 10, ny), (mx - 13, ny), (mx - 13, ty + size / 2), (mx - 4, ty + size / 2), radius=6), raw
    )
    for i, (value, label) in enumerate(picture.scores):
        tx, path = mx + i * (size + gutter), f"{name}.{value}"
        picture.text(tx + size / 2, ty - 6, label, 11, "middle", "second", path)
        picture.maps(tx, ty, size, size, path, stack)
        if i:
            picture.arrow(chain_arrow(ty + size / 2, tx - gutter + 4, tx - 4), path)
    weights = f"{name}.weights"
    last = mx + 3 * (size + gutter) + size / 2
    my = y1 + 104 + lift
    picture.arrow(f"M{last:g} {ty + size + 4:g}V{my - lift - 5:g}", weights, "weight")
    picture.text(mx, my - lift - 11, picture.word("weights"), 12, p=weights, strong=True)
    picture.text(last - 7, my - lift - 11, "softmax", 11, "end", "second", weights)
    named = cell * n >= 44
    shape = {"across": across, "cell": cell, "gap": gap, "lift": lift}
    picture.maps(mx, my, side_w, side_h, weights, stack, **shape, named=named, focus=True)

    # the weighted sum of values, the heads side by side, and out
    vy, sx = rows[2] + high / 2, mx + min(side_w, area) / 2
    z = f"{name}.heads"
    picture.arrow(f"M{px + plate_width + 4:g} {vy:g}H{sx - 13:g}", z, "value")
    picture.arrow(f"M{sx:g} {my + side_h + 4:g}V{vy - 13:g}", z, "weight")
    picture.add("circle", x=sx, y=vy, r=9.5, sign="×", p=z)
    picture.text(sx, vy + 28, picture.word("average"), 11, "middle", "second", z)
    picture.arrow(f"M{sx + 11:g} {vy:g}H{hx - 5:g}", z, "value")
    ax = hx + 23
    picture.plate(hx, rows[2], 46, high, z, stack, bar=True)
    picture.text(ax, rows[2] + high + 16, picture.word("heads"), 11, "middle", "second", z)
    concat, output = f"{name}.concat", f"{name}.output"
    picture.plate(hx, rows[1], 46, high, concat, stack)
    picture.arrow(f"M{ax:g} {rows[2] - 8:g}V{rows[1] + high + 5:g}", concat)
    picture.text(ax - 8, rows[2] - 11, picture.word("concat"), 11, "end", "second", concat)
    picture.plate(hx, rows[0], 46, high, output, stack, tick=True)
    picture.arrow(f"M{ax:g} {rows[1] - 4:g}V{rows[0] + high + 5:g}", output)
    picture.weight(ax + 8, rows[1] - 10, "O", f"{name}.w_o.weight", output)
    picture.text(ax - 8, rows[1] - 10, picture.word("output"), 11, "end", "second", output)
    picture.arrow(f"M{ax:g} {rows[0] - 4:g}V{y1 + 6:g}", sublayer.sum)
    picture.plus(ax, at.top, at.bottom, sublayer.sum)
    return ax, ground["x"] + ground["w"], ground["y"] + ground["h"]


def chain_with_room(picture: Picture, at: Lines, x: float, sublayer: Sublayer, plate_width: float) -> tuple:
    """A feed-forward detour that hangs from a single stave: hidden, the bend, activated, output."""
    name, stack = sublayer.name, at.stack.name
    hidden, activated, output = sublayer.body
    y1, n = at.bottom, at.count
    high = min(max(6 * n, 62), 96)
    left, gap = x + 12, 12
    right = left + plate_width + gap
    cx, cx2 = left + 22, right + plate_width - 22
    top = y1 + 110
    middle = (cx + cx2) / 2
    bend = top + high + 46
    ground = picture.add("ground", x=x, y=y1 + 14, w=2 * plate_width + gap + 24, h=bend + 84 - y1 - 14)
    branch = y1 + 32
    read(picture, at, cx, branch, sublayer, 1)
    if sublayer.before:
        picture.add("norm", x=cx - 22, y=branch, w=44, h=18, text=picture.word("norm"), p=sublayer.before[-1])
        picture.norm_motif(sublayer.before, stack, x=cx - 22, y=branch + 22, w=44, across=24)
        branch += 48
    picture.arrow(f"M{cx:g} {branch:g}V{top - 5:g}", hidden)
    picture.weight(cx + 8, top - 11, "1", f"{name}.w_1.weight", hidden)
    picture.plate(left, top, plate_width, high, hidden, stack, tick=True)
    picture.plate(right, top, plate_width, high, activated, stack, tick=True)
    picture.arrow(path_from((cx, top + high + 4), (cx, bend), (middle - 33, bend)), activated)
    picture.add("curve", x=middle - 28, y=bend - 24, w=56, h=48, p=activated)
    picture.text(middle, bend + 38, picture.activation, 11, "middle", "second", activated)
    picture.text(middle, bend + 59, picture.word(sublayer.word), 13, "middle", p=hidden, strong=True)
    picture.text(middle, bend + 74, picture.word(f"{sublayer.word}_does"), 11, "middle", "second", hidden)
    picture.arrow(path_from((middle + 28, bend), (cx2, bend), (cx2, top + high + 5)), activated)
    picture.arrow(f"M{cx2:g} {top - 4:g}V{y1 + 54 + 24 + 5:g}", output)
    picture.weight(cx2 + 8, top - 11, "2", f"{name}.w_2.weight", output)
    picture.plate(cx2 - 22, y1 + 54, 44, 24, output, stack)
    picture.arrow(f"M{cx2:g} {y1 + 50:g}V{y1 + 6:g}", sublayer.sum)
    picture.plus(cx2, at.top, at.bottom, sublayer.sum)
    return cx2, ground["x"] + ground["w"], ground["y"] + ground["h"]


def drawn(
    view: View, stack: Stack, plate_width: float, chain_width: float, slack: float = 0, wide_maps: bool = True
) -> tuple:
    """The picture with matrices so wide, `slack` spread over its gaps, and where its stave ends."""
    picture = Picture(view, WIDTH)
    n = window(len(view.tokens[stack.name]), view.focus[stack.name])
    at = lines(view, stack, pitch_for(n[1] - n[0]), 44)
    more = 12 if at.start else 0
    at = lines(view, stack, at.pitch, 44 + more)
    embedding = f"{stack.name}.embedding"
    picture.text(0, 18, picture.word("tokens"), 12, strong=True)
    picture.text(0, 33, picture.word("ids"), 12, tone="second")
    tokens(picture, at, 66, 96)
    picture.text(104, at.top - 26, picture.word("embedding"), 12, strong=True, p=f"{embedding}.tokens")
    picture.text(111, at.top - 10, [("E", "i")], 13, "middle", p=f"{embedding}.tokens", parameter=f"{embedding}.weight")
    x = entrance(picture, at, 104, 1, 84) + 10 + slack / 4
    lowest = at.bottom + 32 + 84 + 20
    for number in range(view.layer):
        x = compact(picture, at, x, number, 1, 40, at.top - 10) + 5 + slack / 12
    opened = x + slack / 6
    for i, sublayer in enumerate(stack.layers[view.layer]):
        if sublayer.attends:
            label = _state(picture, at, x, sublayer.input)
            picture.strip(x, 18, stack.name, sublayer.input, at.ys, at.strip)
            x += label + slack / 12
            plus, end, low = attention_with_room(picture, at, x, sublayer, plate_width, wide_maps)
        else:
            plus, end, low = chain_with_room(picture, at, x, sublayer, chain_width)
        lowest = max(lowest, low)
        after = after_sum(picture, at, plus + 12, sublayer, False)
        _state(picture, at, plus + 12, sublayer.sum, sublayer.end)
        last = plus
        nearest = 30 if i + 1 < len(stack.layers[view.layer]) else 0  # the next comb stands this far inside its ground
        x = max(end + 8, after + 10 - nearest) if nearest else after + 10
        chain_low = low
        if sublayer.attends:
            attention_end = end
    picture.add("bracket", x0=opened, x1=last + 8, y=5, way=1)
    picture.text((opened + last) / 2, 24, picture.word("opened", n=view.layer), 12, "middle", "accent", strong=True)
    for number in range(view.layer + 1, len(stack.layers)):
        x = compact(picture, at, x, number, 1, 40, at.top - 10) + 5 + slack / 12
    if stack.norm:
        x = stave_norm(picture, at, x, stack.norm, False)
    end = x + 6
    right = WIDTH - 9
    by = chain_low + (27 if attention_end < 736 else 20)
    bottom = prediction(picture, at, max(744, attention_end + 14), by, right)
    threads(picture, at, 98, (right if view.prediction.claim != "none" else end) - 10, (right, by))
    picture.legend = {"x": 0, "y": at.bottom + 32 + 84 + 40, "w": 215}
    picture.height = max(lowest, bottom, picture.legend["y"] + 302) + 4
    return picture, end


def _state(picture: Picture, at: Lines, x: float, path: str, end: str | None = None) -> float:
    """The stream's symbol above its strip; returns how far the next thing stands away."""
    number = int(path.split(".")[2])
    sublayer = path.split(".")[3]
    if path.endswith(".input"):
        parts = [("x", "i"), (str(number), "s")]
    elif sublayer.startswith("feed_forward"):
        parts = [("x", "i"), (str(number + 1), "s")]
    else:
        parts = [("x", "i"), (str(number), "s"), "′"]
    picture.text(x + 9, at.top - 10, parts, 13, "middle", p=end or path)
    return 26


def pitch_for(rows: int) -> float:
    return 17 if rows <= 14 else 12


def single(view: View, stack: Stack) -> Picture:
    """The picture of a pass with one stave, as wide as there is room."""
    plate, chain, limit = 96.0, 76.0, WIDTH - 18
    for wide_maps in (True, False):  # where the stave would be too long, first the plates give way, then the maps
        picture, end = drawn(view, stack, plate, chain, wide_maps=wide_maps)
        if end <= limit:
            return drawn(view, stack, plate, chain, limit - end, wide_maps)[0]
        spare = limit - end
        narrow = max(54.0, plate + spare * 0.45), max(50.0, chain + spare * 0.28)
        picture, end = drawn(view, stack, *narrow, wide_maps=wide_maps)
        if end <= limit + 1:
            break
    return picture
