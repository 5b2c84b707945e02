"""How many parameters a model has, and where they are."""

from explorer.transformer import Transformer

PARTS = ("embedding", "self_attention", "cross_attention", "feed_forward", "norm")


def parameters(model: Transformer) -> dict[str, int]:
    """Parameters by part, those that the model has, in the order of PARTS. The shared matrix E counts once."""
    counts = dict.fromkeys(PARTS, 0)
    for path, parameter in model.named_parameters():
        names = path.split(".")
        part = next(part for part in ("norm", *PARTS) if part in names)
        counts[part] += parameter.numel()
    return {part: count for part, count in counts.items() if count}
