"""The whole pass for a narrow screen: the focus token's line runs down, and stations stand to its right. Pure."""

from collections.abc import Callable

from explorer.views.components.stave_layout import (
    UPRIGHT_WIDTH,
    Lines,
    Picture,
    Stack,
    Sublayer,
    View,
    best,
    chain_arrow,
    lines,
    look,
    origin,
    path_from,
    pills,
    shortened,
    stacks,
    text_width,
    window,
)


def upright(view: View) -> Picture:
    """The same pass for a narrow screen: the focus token's line runs down, stations stand to its right."""
    picture = Picture(view, UPRIGHT_WIDTH)
    rail, x = 20.0, 52.0
    w = UPRIGHT_WIDTH - x
    y = 8.0
    found = stacks(view.trace)
    for stack in found:
        y = _stack(picture, stack, found, rail, x, w, y)
    return picture


def _stack(picture: Picture, stack: Stack, found: list[Stack], rail, x, w, y) -> float:
    view, trace = picture.view, picture.view.trace
    at = lines(view, stack, 17, 0)
    top = y + 8
    begun = len(picture.items)

    def heading(text: str, note: str = "", p: str | None = None) -> None:
        nonlocal y
        picture.text(x, y + 12, text[:1].upper() + text[1:], 13, strong=True, p=p)
        if note:
            picture.text(x + w, y + 12, note, 12, "end", "second", p=p)
        y += 22

    def add(p: str, here: float) -> None:
        picture.arrow(f"M{x - 6:g} {here:g}H{rail + 13:g}", p)
        picture.add("added", x=rail, y=here, r=9, p=p)

    def take(sublayer: Sublayer, here: float) -> None:
        picture.add("taken", x=rail, y=here, r=3, p=sublayer.input, hit=True, stack=stack.name)
        picture.arrow(f"M{rail:g} {here:g}H{x - 5:g}", sublayer.body[0])

    size = "{} × {}"
    name = picture.word(stack.name) if len(found) > 1 else picture.word("tokens")
    heading(name, picture.word("more_left_out", n=at.length - at.count) if at.count < at.length else "")
    cursor = x
    for position in range(at.start, at.stop):
        chip = view.tokens[stack.name][position]
        label = shortened(chip.text, 150)
        width = text_width(label) + 14
        if cursor + width > x + w:
            cursor, y = x, y + 29
        picture.add(
            "chip",
            x=cursor,
            y=y,
            w=width,
            h=24,
            stack=stack.name,
            position=position,
            text=label,
            **look(chip),
            focus=position == at.focus and stack is found[-1],
            p=stack.ids,
            hit=True,
        )
        cursor += width + 5
    y += 41
    high = min(max(4 * at.count, 40), 80)
    width = trace[f"{stack.name}.embedding.tokens"].tensor.shape[-1]
    shape = size.format(at.length, width)
    for value, word in (("tokens", "embedding"), ("scaled", "scaled"), ("positions", "positions")):
        path = f"{stack.name}.embedding.{value}"
        heading(picture.word(word), shape, path)
        picture.plate(x, y, w, high, path, stack.name)
        if value != "tokens":
            add(path, y + high / 2)
        y += high + 16
    path = f"{stack.name}.embedding.output"
    heading(picture.word("entering"), shape, path)
    picture.plate(x, y, w, high, path, stack.name)
    y += high + 18

    for number, layer in enumerate(stack.layers):
        if number != view.layer:
            y = _compact(picture, stack, number, x, w, y, add) + 18
            continue
        for sublayer in layer:
            ground = picture.add("ground", x=x - 12, y=y, w=w + 18, h=10)
            start = y
            y += 14
            picture.text(
                x,
                y + 12,
                picture.word("layer_part", n=number, part=picture.word(sublayer.word)),
                13,
                strong=True,
                p=sublayer.input,
            )
            y += 26
            take(sublayer, y + 9)
            if sublayer.before:
                y = _norm(picture, sublayer.before, stack, x, w, y)
            else:
                picture.text(x, y + 13, picture.word("reads"), 12, tone="second", p=sublayer.body[0])
                y += 26
            y = (
                _attention(picture, at, sublayer, found, x, w, y)
                if sublayer.attends
                else _chain(picture, at, sublayer, x, w, y)
            )
            add(sublayer.sum, y - high / 2 - 14)
            heading(picture.word("after_sum"), shape, sublayer.sum)
            picture.plate(x, y, w, high, sublayer.sum, stack.name)
            y += high + 14
            if sublayer.after:
                picture.add("norm", x=rail - 20, y=y + 2, w=46, h=18, text=picture.word("norm"), p=sublayer.after[-1])
                y = _norm(picture, sublayer.after, stack, x, w, y, capsule=False)
            ground["h"] = y - start
            y += 18
    if stack.norm:
        picture.add("norm", x=rail - 20, y=y + 2, w=46, h=18, text=picture.word("norm"), p=stack.norm[-1])
        y = _norm(picture, stack.norm, stack, x, w, y, capsule=False) + 14
    end = y
    if stack is found[-1]:
        end = y + 14
        y = _prediction(picture, stack, x, w, y)
    thread = {
        "kind": "thread",
        "d": path_from((rail, top), (rail, end), (x - 8, end), radius=10)
        if stack is found[-1]
        else f"M{rail} {top}V{end}",
        "focus": stack is found[-1],
        "stack": stack.name,
        "position": at.focus,
        "x0": top,
        "x1": end,
        "y": rail,
    }
    picture.items.insert(begun, thread)
    picture.height = y + 10
    return y + 26


def _norm(picture: Picture, norm, stack: Stack, x, w, y, capsule=True) -> float:
    left = x + 66 if capsule else x
    if capsule:
        picture.add("norm", x=x, y=y, w=58, h=18, text=picture.word("norm"), p=norm[-1])
    span = x + w - left
    thin = 10
    wide = (span - 2 * thin - 3 * 4) / 2
    cursor = left
    for path, width in zip(norm, (thin, thin, wide, wide), strict=True):
        picture.plate(cursor, y, width, 40, path, stack.name)
        cursor += width + 4
    return y + 54


def _attention(picture: Picture, at: Lines, sublayer: Sublayer, found, x, w, y) -> float:
    view, trace, name, stack = picture.view, picture.view.trace, sublayer.name, at.stack.name
    high = min(max(7 * at.count, 62), 110)
    width = (w - 24) / 3
    source = origin(f"{name}.keys", trace).split(".")[0]
    if source != stack:
        picture.text(x, y + 8, picture.word("from_memory"), 12, tone="second", p=f"{name}.keys")
        y += 20
    for i, (letter, value) in enumerate((("Q", "queries"), ("K", "keys"), ("V", "values"))):
        path, left = f"{name}.{value}", x + i * (width + 12)
        picture.text(
            left, y + 10, [(letter, f"i{letter.lower()}"), (f" {picture.word(value)}", letter.lower())], p=path
        )
        picture.plate(left, y + 21, width, high, path, stack if letter == "Q" else source, bar=True)
    y += high + 38
    size = (w - 3 * 18) / 4
    for i, (value, label) in enumerate(picture.scores):
        path, left = f"{name}.{value}", x + i * (size + 18)
        picture.text(left, y + 10, label, 12, tone="second", p=path)
        picture.maps(left, y + 16, size, size, path, stack, columns=source)
        if i:
            picture.arrow(chain_arrow(y + 16 + size / 2, left - 15, left - 4), path)
    y += size + 32
    path = f"{name}.weights"
    heads = trace[path].tensor.shape[0]
    keys = window(len(view.tokens[source]), view.focus[source])
    keys = keys[1] - keys[0]
    picture.text(x, y + 10, picture.word("weights"), 12, p=path, strong=True)
    y += 20
    across = 1 if heads == 1 else 2
    cell = min((w - (across - 1) * 14) / across / keys, 22)
    down = -(-heads // across)
    tall = down * cell * at.count + (down - 1) * 14
    wide = across * keys * cell + (across - 1) * 14
    shape = {"across": across, "cell": cell, "gap": 14}
    picture.maps(x, y, wide, tall, path, stack, **shape, named=True, focus=True, columns=source)
    y += tall + 14
    flat = min(max(4 * at.count, 40), 80)
    for value, word in (("heads", "heads"), ("concat", "concat"), ("output", "output")):
        path = f"{name}.{value}"
        picture.text(x, y + 10, picture.word(word), 12, tone="second", p=path)
        picture.plate(x, y + 17, w, flat, path, stack, bar=value == "heads")
        y += flat + 31
    return y


def _chain(picture: Picture, at: Lines, sublayer: Sublayer, x, w, y) -> float:
    flat = min(max(4 * at.count, 40), 80)
    labels = (picture.word("hidden"), picture.activation, picture.word("output"))
    for path, label in zip(sublayer.body, labels, strict=True):
        picture.text(x, y + 10, label, 12, tone="second", p=path)
        picture.plate(x, y + 17, w, flat, path, at.stack.name)
        y += flat + 31
    return y


def _compact(picture: Picture, stack: Stack, number: int, x, w, y, add: Callable) -> float:
    layer = stack.layers[number]
    attending = [sublayer for sublayer in layer if sublayer.attends]
    rows = []
    for sublayer in attending:
        heads = picture.view.trace[f"{sublayer.name}.weights"].tensor.shape[0]
        rows.append((f"{sublayer.name}.weights", heads))
    height = 16 + 34 * len(rows)
    end = layer[-1].end
    picture.add(
        "layer",
        x=x,
        y=y,
        w=w,
        h=height,
        stack=stack.name,
        layer=number,
        p=end,
        begins=layer[0].input,
        text=picture.word("layer", n=number),
        hit=True,
    )
    picture.text(x + 14, y + height / 2 + 5, picture.word("layer", n=number).capitalize(), 13, p=end, within=True)
    for row, (path, heads) in enumerate(rows):
        side = min(32.0, 150 / heads - 3)
        for head in range(heads):
            picture.add(
                "thumb",
                x=x + 96 + head * (side + 4 if heads <= 4 else side + 2),
                y=y + 9 + row * 34,
                w=side,
                h=side,
                p=path,
                head=head,
                mode="weight",
                layer=number,
            )
    for sublayer in layer:
        if not sublayer.attends:
            picture.add(
                "thumb",
                x=x + w - 42,
                y=y + height / 2 - 15,
                w=30,
                h=30,
                p=sublayer.body[-2],
                mode="signed",
                layer=number,
            )
    add(end, y + height / 2)
    return y + height


def _prediction(picture: Picture, stack: Stack, x, w, y) -> float:
    at = lines(picture.view, stack, 17, 0)
    shown = picture.view.prediction
    if shown.claim == "none":
        picture.text(x, y + 18, picture.word("no_mask"), 13, strong=True)
        picture.text(x, y + 38, picture.word("no_mask_do"), 12, tone="second")
        y += 40
    else:
        chip = picture.view.tokens[at.stack.name][shown.position]
        heading = picture.word("next" if shown.claim == "next" else "masked_token", n=shown.position, chip="{chip}")
        before, _, after = heading.partition("{chip}")
        text = " ".join(part for part in (before.strip(), shortened(chip.text, 90), after.strip()) if part)
        picture.text(x, y + 18, text, 13, strong=True, p="logits")
        y += 20
    pills(picture, (x, 50), (x + 62, 66), y + 12)
    picture.arrow(f"M{x + 50:g} {y + 24:g}H{x + 60:g}", "probabilities", head=False)
    y += 50
    return best(picture, stack, x, y, w - 50, (66, 22), 28)
