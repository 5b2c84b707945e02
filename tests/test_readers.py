"""Readers who share one process and act at the same time: each sees their own numbers, the same as when alone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import torch

from bench import readers
from bench.browser import serve
from explorer import passes


def test_a_seed_gives_the_same_model_whatever_others_load_meanwhile():
    """torch draws for all threads from one stream; what is drawn from a seed must not depend on who else draws."""
    names = ("decoder-pre-4", "encoder-pre-4")
    passes.growing.clear()
    alone = {name: passes.growing(name, 0).state_dict() for name in names}
    kinds = (
        lambda n: passes.growing(names[n % 2], 0),
        lambda n: passes.model(names[n % 2]),
        lambda n: passes._twin(names[n % 2]),
    )
    for _ in range(4):
        for kept in (passes.growing, passes.model, passes._twin):
            kept.clear()
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(lambda n: kinds[n % 3](n), range(6)))
        for name in names:
            found = passes.growing(name, 0).state_dict()
            assert all(torch.equal(tensor, found[path]) for path, tensor in alone[name].items())


def test_what_readers_see_at_the_same_time_is_what_each_sees_alone():
    """Down to the bytes of the pictures, on a server of their own, without a pause between what they do."""

    async def together(address: str) -> list[list[dict]]:
        return await asyncio.gather(*(readers.go(address, number, None, 6) for number in range(3)))

    server, address = serve()
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may be in a loop of its own: that of a browser
            ways = dict(enumerate(thread.submit(asyncio.run, together(address)).result()))
    finally:
        server.terminate()
    assert len({str(step["seen"]) for way in ways.values() for step in way}) > 12  # they saw different things
    assert readers.mixed_up(ways) == []
