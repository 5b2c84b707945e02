"""Many readers at once: how long each waits, what each costs in memory, and whether each sees their own numbers.

    python -m bench.readers                             20 readers for a minute; writes bench/readers.json
    python -m bench.readers --processes 2               the same, shared out among two servers, as behind nginx
    python -m bench.readers --minutes 10 --readers 4    a soak: the memory after each minute; writes bench/soak.json

Each reader goes their own way, another one from each number: to another page, to another sentence, to another model,
with two seconds of thought between. Browsers by the dozen would measure the browser, so these readers speak the app's
own protocol over a socket, and keep what a browser keeps: widgets, and large messages. They wait until the run's last
message has come.

Then each way is gone again, alone and without a pause, on a server that was just started: whatever a reader saw among
the others, down to the bytes of the pictures, must be what it sees there.

In a soak the readers leave after each minute and others come.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from bench.browser import serve
from explorer.controls import PAGES

NAMES = ("Tom", "Lily", "Ben", "Sam", "Max", "Anna", "Tim", "Mia", "Sue", "Jack")
STORIES = (
    "{} went to the park with {} and saw a big dog.",
    "Once upon a time, {} gave {} a red ball and they played all day.",
    "{} was sad because {} lost the little cat.",
    "One day {} and {} ate a big cake. Then they went home and slept.",
)
ARCHITECTURES = ("encoder", "decoder", "encoder-decoder")
NORMS = ("pre", "post")
THOUGHT = 2.0  # seconds between two actions of a reader
PATIENCE = 60.0  # seconds after which a run counts as lost
MEASURED = re.compile(r"[\d.]+ ms")  # what a page says that it measured, which is another time each time
KEPT = 40  # runs for which a browser keeps large messages (maxCachedMessageAge)
WARMING = -1  # the number of the reader who fills the shared caches
FIRST = 3
WARM = 60  # that reader's actions
FOLDER = Path(__file__).parent


class Reader:
    """One reader's connection: what is on the screen, and what the widgets show."""

    def __init__(self, socket: ClientConnection, query: str):
        self.socket = socket
        self.query = query
        self.page = ""  # the hash of the page's file; none for the first page
        self.pages: dict[str, str] = {}
        self.elements: dict[tuple[int, ...], ForwardMsg] = {}
        self.states: dict[str, WidgetState] = {}
        self.large: dict[str, tuple[int, ForwardMsg]] = {}
        self.runs = 0
        self.received = 0  # bytes

    def widget(self, key: str) -> WidgetState:
        """What a widget of the frame holds, by its key in the app. Raises StopIteration where it is not drawn."""
        return next(state for id, state in self.states.items() if id.endswith(f"-{key}"))

    async def run(self) -> float:
        """Ask for a run with the widgets as they are, and wait for its last message; the seconds that it took."""
        asked = BackMsg()
        client = asked.rerun_script
        client.query_string, client.page_script_hash = self.query, self.page
        client.widget_states.widgets.extend(self.states.values())
        client.cached_message_hashes.extend(self.large)
        client.context_info.locale, client.context_info.timezone = "en-US", "UTC"
        started = time.perf_counter()
        await self.socket.send(asked.SerializeToString())
        self.runs += 1
        while True:
            data = await asyncio.wait_for(self.socket.recv(), PATIENCE)
            self.received += len(data)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    break
                if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    raise RuntimeError(f"The run ended with {message.script_finished}.")
            elif kind in ("delta", "ref_hash"):
                self._draw(message)
            elif kind == "new_session":
                self.elements.clear()
            elif kind == "navigation":
                self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        seconds = time.perf_counter() - started
        self._settle()
        return seconds

    def _draw(self, message: ForwardMsg) -> None:
        """Put an element where it belongs: the message itself, or one that was kept and is referred to."""
        place = tuple(message.metadata.delta_path)
        if message.WhichOneof("type") == "ref_hash":
            _, message = self.large[message.ref_hash]
        elif message.metadata.cacheable:
            self.large[message.hash] = (self.runs, message)
        if message.hash in self.large:
            self.large[message.hash] = (self.runs, message)
        self.elements[place] = message

    def _settle(self) -> None:
        """What a browser does after a run: widgets that are gone lose what they held, old messages are dropped."""
        states = {}
        for message in self.elements.values():
            element = message.delta.new_element
            kind = element.WhichOneof("type")
            if kind == "exception":
                raise RuntimeError(f"{element.exception.type} {element.exception.message}")
            if kind == "text_area":
                widget = element.text_area
                state = self.states.get(widget.id) or WidgetState(id=widget.id, string_value=widget.default)
                if widget.set_value:
                    state.string_value = widget.value
                states[widget.id] = state
            elif kind == "button_group":
                widget = element.button_group
                state = self.states.get(widget.id)
                if state is None or widget.set_value:
                    chosen = widget.raw_values or [widget.options[at].content for at in widget.default]
                    state = WidgetState(id=widget.id)
                    state.string_array_value.data.extend(chosen)
                states[widget.id] = state
        self.states = states
        self.large = {key: kept for key, kept in self.large.items() if self.runs - kept[0] < KEPT}

    def seen(self) -> dict[str, str]:
        """Fingerprints of all elements on the screen, by kind and place; without what is drawn while a reader waits.

        Of a chart of Altair's only its numbers: what stands around them was seen to differ now and then among many
        readers, while the numbers were the same; the cause is not known.
        """
        found = {}
        for place, message in self.elements.items():
            delta = Delta.FromString(message.delta.SerializeToString())
            kind = delta.new_element.WhichOneof("type") or "block"
            if kind == "download_button":
                delta.new_element.download_button.ClearField("deferred_file_id")  # drawn by lot in each run
            if kind == "markdown":
                delta.new_element.markdown.body = MEASURED.sub("", delta.new_element.markdown.body)
            if kind not in ("empty", "spinner"):
                data = delta.SerializeToString(deterministic=True)
                if kind == "vega_lite_chart":
                    data = b"".join(one.data.data for one in delta.new_element.vega_lite_chart.datasets)
                found[f"{kind} {'.'.join(map(str, place))}"] = hashlib.sha256(data).hexdigest()[:16]
        return found


class Way:
    """What a reader does, one action after another, drawn from their number: the same each time it is gone."""

    def __init__(self, number: int):
        self.draw = random.Random(number)
        self.number = number
        self.architecture, self.norm, self.page = "decoder", "pre", PAGES[0][0]
        self.text = self._sentence()

    def _sentence(self) -> str:
        """One that no other reader of the same ten reads."""
        one, other = NAMES[self.number % len(NAMES)], self.draw.choice(NAMES)
        return self.draw.choice(STORIES).format(one, other)

    @property
    def address(self) -> str:
        return urlencode({"lang": "en", "s": self.text, "arch": self.architecture, "norm": self.norm, "heads": 4})

    def next(self) -> str:
        """Choose the next action, and return its kind."""
        kind = self.draw.choice(("page", "text", "model"))
        if kind == "page":
            self.page = self.draw.choice([name for name, _ in PAGES if name != self.page])
        elif kind == "text":
            self.text = self._sentence()
        elif self.draw.random() < 0.5:
            self.norm = self.draw.choice([norm for norm in NORMS if norm != self.norm])
        else:
            self.architecture = self.draw.choice([name for name in ARCHITECTURES if name != self.architecture])
        return kind

    def touch(self, reader: Reader) -> None:
        """Bring the widgets and the page to where this way is now."""
        reader.page = reader.pages[self.page]
        reader.widget("s").string_value = self.text
        for key, chosen in (("arch", self.architecture), ("norm", self.norm)):
            reader.widget(key).string_array_value.data[:] = [chosen]

    def check(self, reader: Reader) -> None:
        """Raises RuntimeError where the widgets show what this reader did not choose."""
        held = (reader.widget("s").string_value, *(reader.widget(key).string_array_value.data[0]
                for key in ("arch", "norm")))  # fmt: skip
        if held != (self.text, self.architecture, self.norm):
            raise RuntimeError(f"Reader {self.number} chose {(self.text, self.architecture, self.norm)}, not {held}.")


async def go(address: str, number: int, until: float | None, steps: int | None = None) -> list[dict]:
    """A reader's way, up to a time or for a number of steps: kind, page, seconds and fingerprints of each."""
    way, pause = Way(number), random.Random(-1 - number)
    socket = f"{address.replace('http', 'ws')}/_stcore/stream"
    async with connect(socket, subprotocols=["streamlit"], max_size=None, compression=None) as open_socket:
        reader = Reader(open_socket, way.address)
        done = [{"kind": "visit", "page": way.page, "seconds": await reader.run(), "seen": reader.seen()}]
        way.check(reader)
        while (time.monotonic() < until) if steps is None else (len(done) < steps):
            if steps is None:
                await asyncio.sleep(THOUGHT * pause.uniform(0.5, 1.5))
            kind = way.next()
            way.touch(reader)
            seconds = await reader.run()
            way.check(reader)
            done.append({"kind": kind, "page": way.page, "seconds": seconds, "seen": reader.seen()})
    return done


def resident(server: subprocess.Popen) -> float:
    """The server's memory in MB (VmRSS)."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def crowd(addresses: Sequence[str], numbers: range, minutes: float) -> dict[int, list[dict]]:
    """Readers who come within the time of one thought, to one server after the other, and go their ways for some
    minutes: by number."""
    until = time.monotonic() + 60 * minutes

    async def come(at: int, number: int) -> list[dict]:
        await asyncio.sleep(THOUGHT * at / len(numbers))
        return await go(addresses[at % len(addresses)], number, until)

    ways = await asyncio.gather(*(come(at, number) for at, number in enumerate(numbers)))
    return dict(zip(numbers, ways, strict=True))


async def visits(server: subprocess.Popen, address: str, readers: int) -> float:
    """MB that a reader costs who reads what was read before, so that nothing new is kept but what is the reader's."""
    socket, query = f"{address.replace('http', 'ws')}/_stcore/stream", Way(WARMING).address
    async with AsyncExitStack() as stack:
        before = 0.0
        for number in range(readers + FIRST):
            if number == FIRST:  # the first of them still grow what all use
                before = resident(server)
            options = {"subprotocols": ["streamlit"], "max_size": None, "compression": None}
            reader = Reader(await stack.enter_async_context(connect(socket, **options)), query)
            await reader.run()
        return (resident(server) - before) / readers


def mixed_up(ways: dict[int, list[dict]]) -> list[str]:
    """Go each way again, alone, on another server: what looked different among the others."""
    server, address = serve()
    try:
        found = []
        for number, seen in ways.items():
            alone = asyncio.run(go(address, number, None, len(seen)))
            for at, (one, other) in enumerate(zip(seen, alone, strict=True)):
                found += [
                    f"reader {number}, action {at} ({one['kind']} on {one['page']}): {element}"
                    for element in sorted(one["seen"].keys() | other["seen"].keys())
                    if one["seen"].get(element) != other["seen"].get(element)
                ]
        return found
    finally:
        server.terminate()


def percentile(seconds: list[float], share: float) -> float:
    """Milliseconds that a share of the runs did not exceed."""
    ordered = sorted(seconds)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)


def times(ways: dict[int, list[dict]]) -> dict[str, dict]:
    """How long the runs took, by what was done: all but the first, which is a visit."""
    steps = [step for way in ways.values() for step in way[1:]]
    kinds = {"all": steps} | {kind: [step for step in steps if step["kind"] == kind]
                              for kind in ("page", "text", "model")}  # fmt: skip
    return {
        kind: {"runs": len(found), "median": percentile([step["seconds"] for step in found], 0.5),
               "p95": percentile([step["seconds"] for step in found], 0.95)}
        for kind, found in kinds.items()
    }  # fmt: skip


def many(readers: int, minutes: float, processes: int) -> dict:
    """Many readers at once, after one on each server who has gone far enough to fill the caches that all share."""
    servers = [serve() for _ in range(processes)]
    try:
        rest = resident(servers[0][0])
        for _, address in servers:
            asyncio.run(go(address, WARMING, None, WARM))
        alone = asyncio.run(visits(*servers[0], readers))
        warm, load = sum(resident(server) for server, _ in servers), os.getloadavg()[0]
        ways = asyncio.run(crowd([address for _, address in servers], range(readers), minutes))
        full = sum(resident(server) for server, _ in servers)
    finally:
        for server, _ in servers:
            server.terminate()
    seen = sum(map(len, ways.values()))
    memory = {
        "a process at rest": round(rest),
        "after one reader each": round(warm),
        "after all": round(full),
        "a visit that reads nothing new": round(alone, 1),
        "a reader with what was read": round((full - warm) / readers, 1),
    }
    return {
        "readers": readers,
        "processes": processes,
        "minutes": minutes,
        "cores": os.cpu_count(),
        "load before": round(load, 1),
        "milliseconds": times(ways),
        "MB": memory,
        "compared": seen,
        "mixed up": mixed_up(ways),
    }


def soak(readers: int, minutes: int) -> dict:
    """Few readers for long; after each minute they leave, and others come."""
    server, address = serve()
    memory, ways = [round(resident(server))], {}
    try:
        for minute in range(minutes):
            ways |= asyncio.run(crowd([address], range(minute * readers, (minute + 1) * readers), 1))
            memory.append(round(resident(server)))
            print(f"minute {minute + 1}: {memory[-1]} MB", flush=True)
    finally:
        server.terminate()
    return {"readers at once": readers, "minutes": minutes, "cores": os.cpu_count(), "MB by minute": memory,
            "milliseconds": times(ways)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.readers", description=__doc__.partition("\n")[0])
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    long = chosen.minutes > 1
    if long:
        found, name = soak(chosen.readers, round(chosen.minutes)), "soak"
    else:
        found = many(chosen.readers, chosen.minutes, chosen.processes)
        name = "readers" if chosen.processes == 1 else f"readers_{chosen.processes}"
    for key, value in found.items():
        print(f"{key}: {value}")
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
