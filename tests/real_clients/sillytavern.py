"""A real SillyTavern for tests: its server on the loopback, its data in a folder of its own, its page in Chromium.

It is installed by ``make e2e-clients`` and is no part of Loci.
"""

import contextlib
import io
import json
import socket
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

START_TIMEOUT = 900  # seconds: at its first start it bundles its scripts, for minutes on a busy machine
TURN_TIMEOUT = 180_000  # milliseconds
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
    .map(({name, mes, is_user, swipes}) => ({name, text: mes, isUser: is_user, swipes: swipes ?? [mes]}))
"""
MAKE_GROUPS = """
async ([cards, groups]) => {
    const context = SillyTavern.getContext();
    const members = [];
    for (const card of cards) {
        const body = new FormData();
        Object.entries(card).forEach(([name, value]) => body.append(name, value));
        const headers = context.getRequestHeaders({omitContentType: true});
        members.push(await (await fetch('/api/characters/create', {method: 'POST', headers, body})).text());
    }
    for (const name of groups) {
        const body = JSON.stringify({name, members, activation_strategy: 1});  // each replies, in order
        await (await fetch('/api/groups/create', {method: 'POST', headers: context.getRequestHeaders(), body})).text();
    }
}
"""
SET_PROMPT = """
([mode, names, last]) => {
    const settings = SillyTavern.getContext().chatCompletionSettings;
    settings.custom_prompt_post_processing = mode;
    settings.names_behavior = names;
    settings.prompts.find((prompt) => prompt.identifier === 'jailbreak').content = last;
}
"""
SHOWN = """
    SillyTavern.getContext().groups.find(({id}) => id === SillyTavern.getContext().groupId)?.name,
    SillyTavern.getContext().name2
"""
MARK_ROUNDS = """
() => {
    const {eventSource, eventTypes} = SillyTavern.getContext();
    eventSource.on(eventTypes.GROUP_WRAPPER_STARTED, () => document.body.dataset.round = 'true');
    eventSource.on(eventTypes.GROUP_WRAPPER_FINISHED, () => delete document.body.dataset.round);
}
"""
IS_IDLE = "() => !document.body.dataset.generating && !document.body.dataset.round"


@contextlib.contextmanager
def running(package: Path, home: Path, *, base_url: str, key: str, extension: bytes | None = None) -> Iterator[str]:
    """Run SillyTavern with its source "Custom" pointed at a model server. Yield its URL.

    ``extension`` is a ZIP file that is unpacked into its extensions, as a person does.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (home / "config.yaml").write_text(CONFIG.format(port=port))
    _write_settings(package, home / "data" / "default-user", base_url, key)
    if extension:
        with zipfile.ZipFile(io.BytesIO(extension)) as archive:
            archive.extractall(home / "data" / "default-user" / "extensions")
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
    """The page of a chat, used as a person does. ``members`` is how many reply to a message."""

    def __init__(self, page: Page, url: str) -> None:
        page.set_default_timeout(TURN_TIMEOUT)
        self.page, self.url, self.members = page, url, 1
        self.reload()

    def make_groups(self, cards: Sequence[Mapping[str, str]], names: Sequence[str]) -> None:
        """Create characters, and groups of all of them."""
        self.page.evaluate(MAKE_GROUPS, [cards, names])
        self.members = len(cards)
        self.reload()

    def open(self, name: str) -> None:
        """Open the chat of a character or a group, which begins with a greeting of each member."""
        self.page.locator("#rightNavDrawerIcon").click()
        if (back := self.page.locator("#rm_button_characters")).is_visible():
            back.click()
        self.page.locator("#rm_print_characters_block").get_by_text(name, exact=True).click()
        self.page.wait_for_function(f"() => [{SHOWN}].includes({json.dumps(name)})", timeout=TURN_TIMEOUT)
        self._wait_for(self.members)
        self.page.locator("#rightNavDrawerIcon").click()

    def set_prompt(self, mode: str, names: int, last: str) -> None:
        """Choose how prompts are processed and how they tell names, and set the post-history instructions."""
        self.page.evaluate(SET_PROMPT, [mode, names, last])

    def run(self, command: str) -> None:
        """Run a slash command."""
        self.page.evaluate("(text) => SillyTavern.getContext().executeSlashCommandsWithOptions(text)", command)

    def trigger(self, member: str) -> None:
        """Ask a member of a group for the next reply."""
        count = self.count
        self.run(f"/trigger await=true {member}")
        self._wait_for(count + 1)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the chat: each message with ``name``, ``text``, ``isUser`` and ``swipes``."""
        shown: list[dict[str, Any]] = self.page.evaluate(MESSAGES)
        return shown

    @property
    def count(self) -> int:
        """Return how many messages the chat has, with hidden ones."""
        return int(self.page.evaluate("() => SillyTavern.getContext().chat.length"))

    def say(self, text: str) -> None:
        """Send a message, and wait for the replies."""
        count = self.count
        self.page.locator("#send_textarea").fill(text)
        is_sent = f"() => SillyTavern.getContext().chat.length > {count}"
        for _ in range(MAX_CLICKS):
            self.page.locator("#send_but").click()
            # SillyTavern ignores a click while it still saves what was said before.
            with contextlib.suppress(PlaywrightTimeoutError):
                self.page.wait_for_function(is_sent, timeout=CLICK_TIMEOUT)
                break
        self._wait_for(count + 1 + self.members)

    def swipe(self) -> None:
        """Ask for another version of the last reply."""
        swipes = len(self.messages[-1]["swipes"])
        self.page.locator(".last_mes .swipe_right").last.click()
        grown = f"() => SillyTavern.getContext().chat.at(-1).swipes?.length > {swipes}"
        self.page.wait_for_function(grown, timeout=TURN_TIMEOUT)
        self._wait_for(self.count)

    def regenerate(self) -> None:
        """Ask for another reply in place of the last one."""
        count, text = self.count, self.messages[-1]["text"]
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
        count = self.count
        self._opened(number).locator(".mes_edit_delete").click()
        self.page.locator("dialog[open] .popup-button-ok").click()
        self._wait_for(count - 1)

    def reload(self) -> None:
        """Load the page, which opens no chat."""
        self.page.goto(self.url)
        self.page.locator("#preloader").wait_for(state="detached", timeout=TURN_TIMEOUT)
        self.page.evaluate(MARK_ROUNDS)

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
