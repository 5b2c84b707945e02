"""A Transformer's forward pass with every number of it, for the app and for a notebook:

    import explorer

    seen = explorer.read("The cat sat on the mat because it was", "decoder-pre-4")
    seen.chart("decoder.layers.0.self_attention.weights", head=1)

`read` runs a model over a text, `models` names the models there are, `load` opens a file of saved values.
"""

__all__ = ["load", "models", "read"]


def __getattr__(name: str):
    if name in __all__:
        from explorer import notebook  # imports torch: only when it is needed, so that the app starts before it is

        return getattr(notebook, name)
    raise AttributeError(f"The module explorer has no attribute {name!r}.")


def __dir__() -> list[str]:
    return __all__
