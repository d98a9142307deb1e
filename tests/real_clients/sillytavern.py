"""A real SillyTavern for tests: its server on the loopback, its data in a folder of its own, its page in Chromium.

It is installed by ``make e2e-clients`` and is no part of Loci.
"""

import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

START_TIMEOUT = 300  # seconds: at its first start, it bundles its scripts
TURN_TIMEOUT = 60_000  # milliseconds
CLICK_TIMEOUT, MAX_CLICKS = 3_000, 5
CONFIG = """
listen: false
port: {port}
browserLaunch: {{enabled: false}}
enableDownloadableTokenizers: false
extensions: {{enabled: true, autoUpdate: false, models: {{autoDownload: false}}}}
"""
MESSAGES = """
() => SillyTavern.getContext().chat
    .filter((message) => !message.is_system)
    .map(({mes, is_user, swipes}) => ({text: mes, isUser: is_user, swipes: swipes ?? [mes]}))
"""
IS_IDLE = "() => !document.body.dataset.generating"


@contextlib.contextmanager
def running(package: Path, home: Path, *, base_url: str, key: str) -> Iterator[str]:
    """Run SillyTavern with its source "Custom" pointed at a proxy. Yield its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (home / "config.yaml").write_text(CONFIG.format(port=port))
    _write_settings(package, home / "data" / "default-user", base_url, key)
    command = ["node", "server.js", "--configPath", home / "config.yaml", "--dataRoot", home / "data"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=package, stdout=log, stderr=log)
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_TIMEOUT
    try:
        while not _answers(url):
            assert server.poll() is None, (home / "log").read_text()
            assert time.monotonic() < deadline, "SillyTavern doesn't start."
            time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=10).close()
    except OSError:
        return False
    return True


def _write_settings(package: Path, folder: Path, base_url: str, key: str) -> None:
    """Write the settings of a user who has chosen "Custom" and gone through the greeting of a first start."""
    folder.mkdir(parents=True)
    settings: dict[str, Any] = json.loads((package / "default" / "content" / "settings.json").read_text())
    settings |= {"firstRun": False, "username": "Anna", "main_api": "openai"}
    settings["power_user"]["auto_connect"] = True
    settings["oai_settings"] |= {
        "chat_completion_source": "custom",
        "custom_url": base_url,
        "custom_model": "scripted-small",
        "stream_openai": True,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    secret = {"id": "loci", "value": key, "label": "Loci", "active": True}
    (folder / "secrets.json").write_text(json.dumps({"api_key_custom": [secret]}))


class SillyTavern:
    """The page of a chat, used as a person does."""

    def __init__(self, page: Page, url: str, character: str) -> None:
        self.page = page
        page.goto(url)
        page.locator("#preloader").wait_for(state="detached", timeout=TURN_TIMEOUT)
        page.locator("#rightNavDrawerIcon").click()
        page.locator("#rm_print_characters_block").get_by_text(character, exact=True).click()
        self._wait_for(1)
        page.locator("#rightNavDrawerIcon").click()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the chat: each message with ``text``, ``isUser`` and ``swipes``."""
        shown: list[dict[str, Any]] = self.page.evaluate(MESSAGES)
        return shown

    def say(self, text: str) -> None:
        """Send a message, and wait for the reply."""
        count = len(self.messages)
        self.page.locator("#send_textarea").fill(text)
        is_sent = f"() => SillyTavern.getContext().chat.length > {count}"
        for _ in range(MAX_CLICKS):
            self.page.locator("#send_but").click()
            # SillyTavern ignores a click while it still saves what was said before.
            with contextlib.suppress(PlaywrightTimeoutError):
                self.page.wait_for_function(is_sent, timeout=CLICK_TIMEOUT)
                break
        self._wait_for(count + 2)

    def swipe(self) -> None:
        """Ask for another version of the last reply."""
        swipes = len(self.messages[-1]["swipes"])
        self.page.locator(".last_mes .swipe_right").last.click()
        grown = f"() => SillyTavern.getContext().chat.at(-1).swipes?.length > {swipes}"
        self.page.wait_for_function(grown, timeout=TURN_TIMEOUT)
        self._wait_for(len(self.messages))

    def regenerate(self) -> None:
        """Ask for another reply in place of the last one."""
        count, text = len(self.messages), self.messages[-1]["text"]
        self.page.locator("#options_button").click()
        self.page.locator("#option_regenerate").click()
        replaced = f"() => SillyTavern.getContext().chat.at(-1).mes !== {json.dumps(text)}"
        self.page.wait_for_function(replaced, timeout=TURN_TIMEOUT)
        self._wait_for(count)

    def edit(self, number: int, text: str) -> None:
        """Change the text of a message."""
        message = self._opened(number)
        message.locator("#curEditTextarea").fill(text)
        message.locator(".mes_edit_done").click()

    def delete(self, number: int) -> None:
        """Delete a message."""
        count = len(self.messages)
        self._opened(number).locator(".mes_edit_delete").click()
        self.page.locator("dialog[open] .popup-button-ok").click()
        self._wait_for(count - 1)

    def _opened(self, number: int) -> Locator:
        message = self.page.locator(f'#chat .mes[mesid="{number}"]')
        message.locator(".mes_edit").click()
        return message

    def _wait_for(self, count: int) -> None:
        """Wait until the chat has so many messages, and no reply is being written."""
        is_done = f"() => SillyTavern.getContext().chat.length === {count} && ({IS_IDLE})()"
        try:
            self.page.wait_for_function(is_done, timeout=TURN_TIMEOUT)
        except PlaywrightTimeoutError as error:
            told = self.page.locator(".toast, dialog[open]").all_inner_texts()
            is_idle = self.page.evaluate(IS_IDLE)
            raise AssertionError(
                f"{count} messages expected: {self.messages}; idle: {is_idle}; told: {told}"
            ) from error
