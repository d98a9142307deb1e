"""The page of a chat of 5,000 messages in a real browser, from the web server that ``manage.py up`` runs.

Targets for a first visit: at most 150 kB transferred (headers included, compressed) in at most 25 requests.
"""

import contextlib
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.test import Client, override_settings
from django.utils import timezone
from playwright.sync_api import Browser, sync_playwright

from apps.accounts.models import User
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.models import Character, Chat
from apps.chats.operations import append_messages, create_chat
from apps.common.pages.static_files import collect_if_changed
from apps.launcher.services import web
from config.env import ROOT

MESSAGES, VISITS = 5000, 5
QUIET = 1.5  # seconds without a request, after which the page has loaded
START_TIMEOUT = 60  # seconds
MOST_BYTES, MOST_REQUESTS = 150_000, 25
NOTE_TYPING = "addEventListener('input', () => { window.typedAt ??= performance.now(); }, true)"
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# A key is shown by then, and the scripts that save and send what is written run.
TYPING = "Math.max(window.typedAt, performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd)"


@dataclass
class Visit:
    """What a first visit transferred, in bytes by URL, and its times in milliseconds."""

    sizes: Counter[str] = field(default_factory=Counter)
    first_paint: float = 0
    typing: float = 0


def chat_with_text(owner: User, size: int, character: Character | None = None) -> Chat:
    """Create a chat with ``size`` messages of 80 words, which are as frequent as in the documentation."""
    words = re.findall(r"[\w'’]+", " ".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))))
    choose = random.Random(1)
    messages = [_message(number, " ".join(choose.choices(words, k=80))) for number in range(size)]
    chat = create_chat(owner, title=f"{size} messages", character=character)
    for start in range(0, size, 1000):
        chat = append_messages(owner, chat.pk, messages[start : start + 1000]).chat
    return chat


def _message(number: int, text: str) -> ParsedMessage:
    return ParsedMessage(
        name="Alice" if number % 2 else "Mira",
        is_user=bool(number % 2),
        is_system=False,
        send_date=None,
        sent_at=None,
        swipe_id=0,
        swipes=(ParsedSwipe(text),),
        layout="",
    )


@contextlib.contextmanager
def web_server(**environment: str) -> Iterator[str]:
    """Run the web server, and yield its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with override_settings(LOCI_HOST="127.0.0.1", LOCI_PORT=port):
        command = web().command
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_TIMEOUT
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/healthz/", timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def session_of(owner: User) -> str:
    """Return the value of the session cookie of a signed-in owner."""
    client = Client()
    client.force_login(owner)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def visit(browser: Browser, url: str, path: str, session: str) -> Visit:
    """Open a chat's page with an empty cache, type a key, and wait until the page has loaded."""
    result = Visit()
    with browser.new_context(base_url=url) as context:
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": url}])
        page = context.new_page()
        page.add_init_script(NOTE_TYPING)
        devtools = context.new_cdp_session(page)
        urls: dict[str, str] = {}
        last = time.monotonic()

        def started(event: dict[str, Any]) -> None:
            nonlocal last
            if not event["request"]["url"].startswith("data:"):
                last = time.monotonic()
                urls[event["requestId"]] = event["request"]["url"]

        def received(event: dict[str, Any]) -> None:
            # The size of the headers, which is all that is known of an event stream, since it does not finish.
            if event["requestId"] in urls:
                result.sizes[urls[event["requestId"]]] = event["response"]["encodedDataLength"]

        def finished(event: dict[str, Any]) -> None:
            nonlocal last
            if event["requestId"] in urls:
                last = time.monotonic()
                result.sizes[urls[event["requestId"]]] = event["encodedDataLength"]

        devtools.on("Network.requestWillBeSent", started)
        devtools.on("Network.responseReceived", received)
        devtools.on("Network.loadingFinished", finished)
        devtools.send("Network.enable")
        page.goto(path, wait_until="commit")
        page.get_by_label("Your message").press("a")
        page.wait_for_load_state("load")
        while time.monotonic() - last < QUIET:
            page.wait_for_timeout(100)
        result.first_paint, result.typing = page.evaluate(FIRST_PAINT), page.evaluate(TYPING)
    return result


def report(visits: list[Visit]) -> None:
    """Print the medians, and the largest parts of the last visit."""
    size = statistics.median(visit.sizes.total() for visit in visits)
    count = statistics.median(len(visit.sizes) for visit in visits)
    for url, part in visits[-1].sizes.most_common():
        print(f"  {part:7} bytes  {re.sub('^https?://[^/]+', '', url)}")
    print(f"transferred            {size / 1000:7.1f} kB (target: {MOST_BYTES / 1000:.0f})")
    print(f"requests               {count:7.0f}    (target: {MOST_REQUESTS})")
    print(f"first contentful paint {statistics.median(visit.first_paint for visit in visits):7.0f} ms")
    print(f"time to typing         {statistics.median(visit.typing for visit in visits):7.0f} ms")


def main() -> None:
    """Measure some first visits."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed (apt install chromium).")
    collect_if_changed()
    owner = User.objects.create_user("bench-page@example.com", welcomed_at=timezone.now())
    path, session = f"/chats/{chat_with_text(owner, MESSAGES).pk}/", session_of(owner)
    with (
        web_server(LOG_LEVEL="ERROR") as url,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]) as browser,
    ):
        visit(browser, url, path, session)  # the first request warms the server up
        report([visit(browser, url, path, session) for _ in range(VISITS)])
