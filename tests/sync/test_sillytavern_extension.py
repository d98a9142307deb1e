"""SillyTavern's extension as Loci serves it."""

import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.sync.sillytavern_extension import SOURCE
from config.env import ROOT
from tests.contract.conftest import client_of

# Parses the modules of an object from standard input, by their names, and runs none.
PARSE = """
const { SourceTextModule } = require("node:vm");
const modules = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
for (const [name, text] of Object.entries(modules)) new SourceTextModule(text, { identifier: name });
"""
IMPORT = re.compile(r'(?:from|import)\s+"(\./[^"]+|\.\./[^"]+)"')


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def files(alice: User, client: Client) -> dict[str, str]:
    """The files of the archive that a user downloads at an address."""
    client.force_login(alice)
    reply = client.get("/settings/tokens/sillytavern.zip", headers={"host": "testserver"})
    assert reply["Content-Type"] == "application/zip"
    assert 'filename="loci-sillytavern.zip"' in reply["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_archive_is_a_whole_extension_that_knows_its_loci(files: dict[str, str]) -> None:
    assert {name.split("/")[0] for name in files} == {"loci"}
    assert 'SERVER = "http://testserver"' in files["loci/server.js"]
    manifest = json.loads(files["loci/manifest.json"])
    assert {f"loci/{manifest['js']}", f"loci/{manifest['css']}"} <= set(files)
    assert f"globalThis.{manifest['generate_interceptor']} =" in files["loci/index.js"]
    assert f'VERSION = "{manifest["version"]}"' in files["loci/api.js"]


def test_each_module_that_one_imports_is_there(files: dict[str, str]) -> None:
    imports = {
        (Path(name).parent / target).as_posix()
        for name, text in files.items()
        if name.endswith(".js")
        for target in IMPORT.findall(text)
    }
    resolved = {str(Path("/", path).resolve()).lstrip("/") for path in imports}
    assert len(resolved) > 20
    assert resolved <= set(files)


def test_the_modules_of_the_sync_client_are_the_ones_of_our_pages(files: dict[str, str]) -> None:
    for path in sorted((ROOT / "static" / "js" / "sync").glob("*.js")):
        assert files[f"loci/sync/{path.name}"] == path.read_text()


def test_somebody_who_is_signed_out_gets_none(client: Client, db: None) -> None:
    assert client.get("/settings/tokens/sillytavern.zip").status_code == 302


def test_the_api_tells_the_version_that_this_loci_serves(alice: User) -> None:
    manifest = json.loads((SOURCE / "manifest.json").read_text())
    assert client_of(alice).get("/api/v1/clients/sillytavern/").json() == {"version": manifest["version"]}
    assert Client().get("/api/v1/clients/sillytavern/").status_code == 401


def test_the_page_of_tokens_links_to_it(alice: User, client: Client) -> None:
    client.force_login(alice)
    assert "/settings/tokens/sillytavern.zip" in client.get("/settings/tokens/").content.decode()


@pytest.mark.skipif(shutil.which("node") is None, reason="Node checks the syntax of modules.")
def test_each_module_can_be_parsed(files: dict[str, str]) -> None:
    """ESLint looks closer in `make lint`."""
    modules = json.dumps({name: text for name, text in files.items() if name.endswith(".js")})
    command = ["node", "--experimental-vm-modules", "-e", PARSE]
    done = subprocess.run(command, input=modules, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
