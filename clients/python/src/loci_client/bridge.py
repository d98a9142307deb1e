"""An MCP server on standard input and output that passes each message on to a Loci server, and its reply back."""

import base64
import json
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TextIO

import httpx

TIMEOUT = httpx.Timeout(60, connect=5)
AT_ONCE = 8  # messages that are passed on at the same time
UNREACHABLE, REFUSED = -32000, -32001  # codes of errors, of the range that JSON-RPC leaves to servers
PARSE_ERROR = -32700
VERSION_IN_META = "io.modelcontextprotocol/protocolVersion"
# What names the target of a message, which the newer protocol repeats in a header.
NAME_OF = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Bridge:
    """Passes messages on, several at once. All is told on ``output``, one line a message."""

    def __init__(self, url: str, token: str, output: TextIO, http: httpx.Client | None = None) -> None:
        self._url = f"{url.rstrip('/')}/mcp"
        self._token = token
        self._output = output
        self._http = http or httpx.Client(timeout=TIMEOUT)
        self._version = ""
        self._writing = Lock()

    def run(self, lines: Any) -> None:
        """Pass on all messages of ``lines``, until there are no more and the last reply is written."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for line in lines:
                if not line.strip():
                    continue
                try:
                    message = json.loads(line)
                except ValueError:
                    self._write(_error(None, PARSE_ERROR, "This line is not JSON."))
                    continue
                if isinstance(message, dict) and message.get("method") == "initialize":
                    self.pass_on(message)  # what follows needs the version that it settles
                else:
                    threads.submit(self.pass_on, message)

    def pass_on(self, message: Any) -> None:
        """Send a message, and write the reply or, for a request, why there is none."""
        try:
            reply = self._answer(message)
        except httpx.HTTPError as error:
            reply = _error(
                message, UNREACHABLE, f"Loci can't be reached at {self._url}: {error or type(error).__name__}"
            )
        if reply is not None:
            self._write(reply)

    def _answer(self, message: Any) -> Any:
        response = self._http.post(self._url, json=message, headers=self._headers(message))
        if "application/json" in response.headers.get("Content-Type", ""):
            reply = response.json()
            version = reply.get("result", {}).get("protocolVersion") if isinstance(reply, dict) else None
            self._version = version or self._version
            return reply
        if response.is_success:
            return None
        return _error(message, REFUSED, f"{response.status_code}: {_detail_of(response)}")

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json, text/event-stream"}
        given: Mapping[str, Any] = message if isinstance(message, dict) else {}
        params = _object_in(given, "params")
        own_version = _text_in(_object_in(params, "_meta"), VERSION_IN_META)
        if version := own_version or self._version:
            headers["MCP-Protocol-Version"] = version
        if own_version:
            method = _text_in(given, "method")
            headers["Mcp-Method"] = method
            if method in NAME_OF:
                headers["Mcp-Name"] = _header_value(_text_in(params, NAME_OF[method]))
        return headers

    def _write(self, message: Any) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._writing:
            self._output.write(f"{line}\n")
            self._output.flush()


def _object_in(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _text_in(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _header_value(text: str) -> str:
    """Return a text as a header may have it: encoded, unless it is plain ASCII."""
    if re.fullmatch(r"[!-~]([ -~]*[!-~])?", text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _detail_of(response: httpx.Response) -> str:
    try:
        document = response.json()
    except ValueError:
        return response.reason_phrase
    return str(document.get("detail", response.reason_phrase)) if isinstance(document, dict) else response.reason_phrase


def _error(message: Any, code: int, text: str) -> dict[str, Any] | None:
    """Return the error reply to a message, or None if it expects no reply."""
    if isinstance(message, dict) and "id" not in message:
        return None
    message_id = message["id"] if isinstance(message, dict) else None
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def serve(url: str, token: str) -> None:
    """Be an MCP server on standard input and output until the input ends."""
    Bridge(url, token, sys.stdout).run(sys.stdin)
