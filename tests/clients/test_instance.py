"""The worked example of the client's README: an assistant in two places, each a process of its own, shares a memory."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from anyio.from_thread import BlockingPortal
from loci_client import AsyncInstance, AsyncLoci, Instance, Loci
from loci_client.shared_memory import SharedMemory
from pytest_django.live_server_helper import LiveServer

from config.env import ROOT
from tests.clients.conftest import PLAIN
from tests.clients.unreliable import Proxy

README = ROOT / "clients" / "python" / "README.md"


def example(index: int) -> str:
    section = README.read_text().partition("## One memory in two places")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[index]


def run_example(index: int, url: str, token: str, folder: Path) -> str:
    program = f"token = {token!r}\n" + example(index).replace("http://localhost:8000", url)
    client = str(README.parent / "src")
    environment = os.environ | {"NO_PROXY": "*", "no_proxy": "*", "PYTHONPATH": client}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readmes_example_in_processes_of_their_own(live_server: LiveServer, token: str, tmp_path: Path) -> None:
    assert run_example(0, live_server.url, token, tmp_path) == ""
    assert run_example(1, live_server.url, token, tmp_path) == "0\n"
    with Loci(live_server.url, token) as loci:
        desk = Instance(loci, "desk", tmp_path / "desk.json")
        desk.pull()
        assert list(desk.memories.values()) == ["Alice drinks black tea."]
        assert run_example(2, live_server.url, token, tmp_path) == "2 0\n"
        desk.pull()
        assert set(desk.memories.values()) == {"Alice drinks black tea.", "Alice takes no sugar."}


def test_concurrent_writes_are_reported_and_both_places_end_the_same(loci: Loci, tmp_path: Path) -> None:
    desk, phone = Instance(loci, "desk"), Instance(loci, "phone", tmp_path / "phone.json")
    for instance in (desk, phone):
        instance.register()
    key = desk.remember("Alice drinks tea.")
    other = desk.remember("Alice has a cat.")
    desk.push()
    phone.pull()
    desk.edit(key, "Alice drinks green tea.")
    phone.edit(key, "Alice drinks black tea.")
    phone.forget(other)
    desk.write_file("self", "notes.md", "Be brief.")
    assert desk.push() == []
    phone = Instance(loci, "phone", tmp_path / "phone.json")  # it was restarted before it could push
    assert [(report["id"], report["reason"]) for report in phone.push()] == [(key, "kept-both")]
    assert phone.push() == []
    for instance in (desk, phone):
        instance.pull()
    assert desk.memories == phone.memories == {key: "Alice drinks green tea."}
    assert phone.status()["open_conflicts"] == 1


def test_an_instance_that_lost_its_file_goes_on_with_its_counter(loci: Loci) -> None:
    before = Instance(loci, "desk")
    before.register()
    before.write_file("self", "notes.md", "Be brief.")
    before.push()
    after = Instance(loci, "desk")
    after.write_file("self", "notes.md", "Be long.")
    after.push()
    assert after.memory.counter == 2
    after.pull()
    assert after.memory.entries["identity/self/notes.md"]["content"] == "Be long."


@pytest.mark.parametrize(
    ("category", "filename", "content"),
    [
        ("identity", "about.md", "x"),
        ("self", "../about.md", "x"),
        ("self", "about me.md", "x"),
        ("self", "", "x"),
        ("self", "a" * 101, "x"),
        ("self", "about.md\n", "x"),
        ("self", "about.md", "a\0b"),
        ("self", "about.md", "\ud800"),
        ("self", "about.md", "x" * 200_001),
    ],
)
def test_what_the_server_would_refuse_is_refused_where_it_is_written(
    loci: Loci, category: str, filename: str, content: str
) -> None:
    desk = Instance(loci, "desk")
    desk.register()
    with pytest.raises(ValueError, match=r"must be|has more than|contains"):
        desk.write_file(category, filename, content)
    key = desk.remember("Alice drinks tea.")
    for text in (" ", "a\0b", "x" * 4001):
        with pytest.raises(ValueError, match=r"must contain|has more than|contains"):
            desk.remember(text)
        with pytest.raises(ValueError, match=r"must contain|has more than|contains"):
            desk.edit(key, text)
    assert desk.push() == []
    desk.write_file("custom", "a" * 100, "x" * 200_000)
    desk.write_file("user", "0._-", "")
    desk.edit(key, "x" * 4000)
    assert desk.push() == []


def test_what_is_written_during_a_push_is_pushed_next(proxy: Proxy, token: str, portal: BlockingPortal) -> None:
    async def play() -> dict[str, str]:
        async with AsyncLoci(proxy.url, token, http=httpx.AsyncClient(**PLAIN)) as loci:
            desk, phone = AsyncInstance(loci, "desk"), AsyncInstance(loci, "phone")
            for instance in (desk, phone):
                await instance.register()
                await instance.register()  # which changes nothing
                await instance.pull()
            key = desk.remember("Alice drinks tea.")
            pushing = asyncio.create_task(desk.push())
            while not pushing.done():  # edit at each step of the push
                desk.edit(key, "Alice drinks green tea.")
                await asyncio.sleep(0)
            assert await pushing == []
            assert desk.memory.pending
            await desk.push()
            await phone.pull()
            desk.forget(key)
            with pytest.raises(KeyError):
                desk.edit(key, "Alice drinks red tea.")
            return phone.memories

    assert list(portal.call(play).values()) == ["Alice drinks green tea."]


@pytest.mark.parametrize("count", [0, 1, 1000, 1001])
def test_a_push_is_divided_by_the_servers_limit(count: int) -> None:
    memory = SharedMemory("desk")
    for number in range(count):
        memory.write(f"memory/{number}", {"id": str(number), "text": "x"})
    assert [len(keys) for keys, _ in memory.bodies()] == [1000] * (count // 1000) + [count % 1000] * bool(count % 1000)
