"""The examples of the client's README run as they stand, from first to last."""

import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from loci_client import ChatSession, EditConflict, Loci
from pytest_django.live_server_helper import LiveServer

from config.env import ROOT
from tests.coroutines import call_in_thread

pytestmark = pytest.mark.django_db(transaction=True)

BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "clients/python/README.md").read_text(), re.MULTILINE | re.DOTALL)
ADDRESS = "http://localhost:8000"


class Watched(ChatSession):
    """A session whose ``watch`` ends with the first change, which somebody else makes."""

    def watch(self, **options: Any) -> Iterator[Any]:  # type: ignore[override]
        other = self._loci.session(self.core.chat_id)
        threading.Timer(1, other.append, [{"name": "Bob", "mes": "Good morning."}]).start()
        changes = super().watch(poll_every=0.5)
        yield next(changes)
        changes.close()  # type: ignore[attr-defined]


def test_every_example_runs(
    live_server: LiveServer,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Loci, "session", lambda loci, chat, replica=False: Watched(loci, chat, replica=replica))
    lines = ['{"user_name": "Alice", "character_name": "Mira"}', '{"name": "Mira", "mes": "Hi"}']
    (tmp_path / "heist.jsonl").write_text("\n".join(lines))
    given: dict[str, Any] = {"token": token, "ask": lambda base, mine, theirs: f"{mine} {theirs}"}
    assert len(BLOCKS) >= 7
    with Loci(live_server.url, token, http=httpx.Client(trust_env=False)) as loci:
        for block in BLOCKS:
            given["loci"] = loci
            try:
                call_in_thread(
                    partial(exec, compile(block.replace(ADDRESS, live_server.url), "README.md", "exec"), given)
                )
            except EditConflict:
                pytest.fail(f"There is a conflict in:\n{block}")
    printed = capsys.readouterr().out
    assert "['added', 'corrected']" in printed
    for line in ("Alice drinks black tea.", "2026-11-27 - Alice has found the key.", "Bob Good morning."):
        assert line in printed
    assert (tmp_path / "copy.jsonl").exists()
