"""Lines that other programs need, ready to be copied: with the address of this installation and a token."""

import json
from dataclasses import dataclass, field

from django.utils.translation import gettext

PLACEHOLDER = "loci_…"  # where a token is not to be shown
QUESTION = "Where is the key?"


@dataclass(frozen=True)
class ReadyLine:
    """A text to copy, which may have several lines, and what it is."""

    label: str
    text: str


@dataclass(frozen=True)
class Program:
    """A program, where its settings are, and what to enter there."""

    key: str
    name: str
    where: str
    lines: list[ReadyLine] = field(default_factory=list)


def programs(address: str, token: str) -> list[Program]:
    """Return what each program needs to use the installation at ``address`` with a token."""
    proxy = [ReadyLine(gettext("Base URL"), f"{address}/v1"), ReadyLine(gettext("API key"), token)]
    variables = f"OPENAI_API_BASE_URL={address}/v1\nOPENAI_API_KEY={token}"
    return [
        Program(
            "sillytavern-lines",
            "SillyTavern",
            gettext("API Connections, Chat Completion, source “Custom (OpenAI-compatible)”:"),
            proxy,
        ),
        Program(
            "open-webui",
            "Open WebUI",
            gettext("Admin settings, Connections, OpenAI API; or its environment:"),
            [*proxy, ReadyLine(gettext("Environment"), variables)],
        ),
        Program("mcp", "MCP", gettext("Claude, Cursor and other programs with MCP:"), _mcp(address, token)),
        Program("curl", "curl", gettext("In a shell:"), _curl(address, token)),
        Program("python", "Python", gettext("Python 3 alone, or with OpenAI's package:"), _python(address, token)),
    ]


def _mcp(address: str, token: str) -> list[ReadyLine]:
    server = {"url": f"{address}/mcp", "headers": {"Authorization": f"Bearer {token}"}}
    command = f'claude mcp add --transport http loci {address}/mcp --header "Authorization: Bearer {token}"'
    settings = json.dumps({"mcpServers": {"loci": server}}, indent=2, ensure_ascii=False)
    return [ReadyLine("Claude Code", command), ReadyLine(gettext("Cursor and others, in mcp.json"), settings)]


def _curl(address: str, token: str) -> list[ReadyLine]:
    headers = f"-H 'Authorization: Bearer {token}' -H 'Content-Type: application/json'"
    search = f"curl {address}/api/v1/memories/search/ \\\n  {headers} \\\n  -d '{json.dumps({'query': QUESTION})}'"
    asked = {"model": "loci", "messages": [{"role": "user", "content": QUESTION}]}
    chat = f"curl {address}/v1/chat/completions \\\n  {headers} \\\n  -d '{json.dumps(asked)}'"
    return [ReadyLine(gettext("Search what is remembered"), search), ReadyLine(gettext("Chat with memory"), chat)]


def _python(address: str, token: str) -> list[ReadyLine]:
    search = f"""\
import json
import urllib.request

request = urllib.request.Request(
    "{address}/api/v1/memories/search/",
    data=json.dumps({{"query": "{QUESTION}"}}).encode(),
    headers={{"Authorization": "Bearer {token}", "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request) as reply:
    for found in json.load(reply)["results"]:
        if found["memory"]:
            print(found["memory"]["text"])"""
    chat = f"""\
from openai import OpenAI

client = OpenAI(base_url="{address}/v1", api_key="{token}")
messages = [{{"role": "user", "content": "{QUESTION}"}}]
print(client.chat.completions.create(model="loci", messages=messages).choices[0].message.content)"""
    return [ReadyLine(gettext("Search what is remembered"), search), ReadyLine(gettext("Chat with memory"), chat)]
