"""``python -m benchmarks.attacks URL SECRET CONNECTION``: send the worst requests that are known until the input ends.

Print the numbers of answers by their status, as JSON.
"""

import json
import socket
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from urllib.parse import urlsplit

import httpx

PATCHES, OBJECTS = 150_000, 8 * 1024 * 1024 // 3  # in one body
SLOW_BODIES, IMPORTS, CATCH_UPS = 20, 50, 100
TEXT = "The tide had gone out further than either of them remembered, and the bell lay bare on the sand."


def main(url: str, secret: str, connection: str) -> None:
    """Run all attacks at once, each in threads of its own."""
    headers = {"Authorization": f"Bearer {secret}"}
    answers: Counter[str] = Counter()
    stop = Event()
    with httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=120, trust_env=False) as client:
        endless, once = _requests(client, connection)

        def answer(send: Callable[[], httpx.Response]) -> None:
            try:
                answers[str(send().status_code)] += 1
            except httpx.HTTPError as error:
                answers[type(error).__name__] += 1

        def repeat(send: Callable[[], httpx.Response]) -> None:
            while not stop.is_set():
                answer(send)

        def unless_stopped(send: Callable[[], httpx.Response]) -> None:
            if not stop.is_set():
                answer(send)

        with ThreadPoolExecutor(64) as pool:
            for send in endless:
                pool.submit(repeat, send)
            for _ in range(SLOW_BODIES):
                pool.submit(_send_slowly, url, headers["Authorization"], stop)
            for send in once:
                pool.submit(unless_stopped, send)
            sys.stdin.read()
            stop.set()
    print(json.dumps(answers))


def _requests(
    client: httpx.Client, connection: str
) -> tuple[list[Callable[[], httpx.Response]], list[Callable[[], httpx.Response]]]:
    """Return the requests to repeat, and those to send once."""
    chat = client.post("chats/", json={"title": "Hostile"}).json()["id"]
    patches = json.dumps({"force": True, "patches": [{"index": 0, "set": {"mes": ""}}] * PATCHES}).encode()
    objects = b'{"force": true, "messages": [' + b"{}," * OBJECTS + b"{}]}"
    lines = [json.dumps({"user_name": "Alice", "character_name": "Mira"})]
    lines += [json.dumps({"name": "Mira", "is_user": False, "mes": f"{n}: {TEXT}"}) for n in range(100)]
    files = {"file": ("chat.jsonl", "\n".join(lines).encode())}
    kind = {"Content-Type": "application/json"}
    endless: list[Callable[[], httpx.Response]] = [
        lambda: client.post(f"chats/{chat}/patch/", content=patches, headers=kind),
        lambda: client.post(f"chats/{chat}/append/", content=objects, headers=kind),
        lambda: client.post(f"connections/{connection}/test/"),
        lambda: client.post("memories/search/", json={"query": TEXT * 50}),
    ]
    jobs: Callable[[], httpx.Response] = lambda: client.post("imports/", files=files)  # noqa: E731
    chats: Callable[[], httpx.Response] = lambda: client.post("chats/import/", files=files)  # noqa: E731
    return endless, [*[jobs] * IMPORTS, *[chats] * CATCH_UPS]


def _send_slowly(url: str, authorization: str, stop: Event) -> None:
    """Send a body one byte a second, again and again."""
    parts = urlsplit(url)
    head = (
        f"POST /api/v1/chats/ HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: {authorization}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    )
    while not stop.is_set():
        try:
            with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
                connection.sendall(head.encode())
                while not stop.wait(1):
                    connection.sendall(b" ")
        except OSError:
            stop.wait(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
