"""How a process serves."""

import socket

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
