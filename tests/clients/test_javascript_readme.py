"""The examples of the README of the client for JavaScript run as they stand, in Node."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from loci_client import Loci
from pytest_django.live_server_helper import LiveServer

from config.env import ROOT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
]

BLOCKS = re.findall(r"^```js\n(.*?)^```", (ROOT / "clients/javascript/README.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, ["Alice drinks black tea.", "added,corrected", "2026-11-27 - Alice has found the key."]),
        (1, ["Where is the key?"]),
    ],
)
def test_every_example_runs(
    live_server: LiveServer, loci: Loci, token: str, tmp_path: Path, number: int, printed: list[str]
) -> None:
    assert len(BLOCKS) == 2
    chat = loci.create_chat("The heist", user_name="Alice")
    for name in ("sync-client.js", "sync"):
        (tmp_path / name).symlink_to(ROOT / "static" / "js" / name)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    known = f'const token = "{token}", chatId = "{chat["id"]}";\n'
    code = BLOCKS[number].replace("http://localhost:8000", live_server.url)
    (tmp_path / "example.mjs").write_text(known + code + "process.exit(0);\n")
    command = ["node", "--preserve-symlinks", "--preserve-symlinks-main", "example.mjs"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == printed
    assert loci.get_chat(chat["id"])["message_count"] == number
