"""HTTP servers in a thread of the test's own process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

LOOK = 0.01  # seconds between two looks whether the server is to end, which whoever ends it waits for


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Have a server answer inside the block, and close it at its end."""
    threading.Thread(target=server.serve_forever, args=(LOOK,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
