"""How a process serves."""

import socket
import time
from threading import Thread

import pytest

from explorer import serving


def test_sockets_that_are_open_and_those_that_follow_send_at_once():
    """The listening socket is made as Streamlit makes its own: without naming the protocol."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def accepted() -> tuple[socket.socket, socket.socket]:
            client = socket.create_connection(listening.getsockname())
            return listening.accept()[0], client

        before, one = accepted()
        assert not before.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        serving.send_at_once.__wrapped__()
        after, other = accepted()
        for connection in (before, after):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert listening.getsockname()  # nothing was closed
        for connection in (before, one, after, other):
            connection.close()


def test_runs_take_turns_in_the_order_in_which_they_came():
    """One holds the turn until all wait; none runs beside another, and each is let in where it stood."""
    turns, order, inside, beside = serving.Turns(), [], [], []

    def run(number: int) -> None:
        with turns:
            inside.append(number)
            beside.append(len(inside))
            order.append(number)
            time.sleep(0.01)
            inside.remove(number)

    threads = [Thread(target=run, args=(number,)) for number in range(5)]
    with turns:
        for at, thread in enumerate(threads):
            thread.start()
            while len(turns._waiting) <= at:
                time.sleep(0.001)
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4] and beside == [1] * 5
    with turns:  # and it is free again
        pass


def test_a_run_that_fails_hands_its_turn_on():
    turns = serving.Turns()
    with pytest.raises(ValueError, match="broken"), turns:
        raise ValueError("broken")
    with turns:
        pass


def test_something_long_lets_those_who_wait_go_first():
    turns, order = serving.Turns(), []

    def short() -> None:
        with turns:
            order.append("short")

    turns.pause()  # outside of a turn: nothing
    with turns:
        turns.pause()  # nobody waits: it goes on
        order.append("long")
        waiting = Thread(target=short)
        waiting.start()
        while not turns._waiting:
            time.sleep(0.001)
        turns.pause()
        order.append("long")
    waiting.join(10)
    assert order == ["long", "short", "long"]
