"""`docs/configuration.md`, from the variables that the settings read; run as a program, it prints the page."""

from collections.abc import Iterable, Mapping

import config.settings  # noqa: F401 - reads every variable
from config.env import env
from config.variables import Group, Variable

INTRODUCTION = """
Loci runs without any configuration. What an installation may change comes from environment variables.

Each variable can also be given as a file: `NAME_FILE=/path` reads the value of `NAME` from that file, without the
line break at its end, and goes before `NAME`. That is how secrets are passed from Docker and systemd.

An empty number or choice is its default; an empty flag is off, as are `off`, `no`, `false` and `0`. A value that can't
be used ends the start with a sentence that names the variable.
"""
BEFORE = {
    Group.LIMITS: """
A rate is a number of requests in a time: `600/m`, `5/10m`, `300/h`; an empty value is no limit. On one machine, where
only you reach Loci (see [below](#language-models)), requests are not limited by default. All processes count together.
Replies carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, a refusal (429) also `Retry-After`.
""",
    Group.LANGUAGE_MODELS: """
Users may connect servers of language models by their address. Which addresses Loci calls depends on who can reach it:

- **On one machine**, as after a plain `make up`: `LOCI_HOST` is the loopback, and neither `LOCI_URL` nor
  `ALLOWED_HOSTS` names another host. Then loopback and private addresses are allowed, so that Ollama or LM Studio on
  this machine or in your network works at once.
- **For others**, as soon as one of these names another host: public addresses only, so that nobody reaches through Loci
  what only your server reaches. Behind a proxy that replaces the `Host` header, set `LOCI_URL` to the address that
  people use. List single servers in `LLM_ALLOWED_ADDRESSES` to allow them.

The form of a connection says which of both applies. What counts is the address that a name leads to at the moment of
the connection; redirects are not followed, and proxies of the environment are not used. [models.md](models.md) has the
settings of common servers.
""",
    Group.EMBEDDED_DATABASE: """
Unless `DATABASE_URL` is set, every `manage.py` command starts Postgres in `LOCI_HOME/postgres` if it is not running,
and the last one to end stops it. It listens on a Unix socket in a folder that is closed to other users of the machine.

Postgres refuses to run as root. For root, Loci makes a system user `loci-postgres` (or, without `useradd`, takes
`postgres` or `nobody`) that runs it. Where that user cannot pass through the folders above `LOCI_HOME`, as below
`/root`, `LOCI_HOME/postgres` is a link to a folder in `/var/lib/loci`. Permissions of existing folders are never
changed.
""",
}
AFTER = {
    Group.DATABASE: """
There are six queues: `interactive` (what a user waits for), `replies` (replies of models to chats), `models` (jobs
that may wait for a user's server: runs, model tests, the search index and new embeddings of who has connected one),
`extraction` (runs of all others), `indexing` (imports, their search index, new embeddings) and `scheduled` (sweeps).
Each has a worker, in one process or in one of its own (`LOCI_FORM`), so that nobody's message waits for another's
import. In the small form no task is ended by its time limit, since threads can't be. Where workers are started
by other means, each queue needs one: `celery -A config worker --queues extraction --concurrency 4`, and
`--pool threads --concurrency 32` for `replies` and `models`. `/readyz/` succeeds once every queue has a worker. Within
models, extraction and indexing, users take turns of about ten seconds.
""",
}
HEADER = ("| variable | default | what it does |", "|---|---|---|")


def page(variables: Mapping[str, Variable] = env.variables) -> str:
    """Return the page in Markdown."""
    sections = (
        _section(group, [variable for variable in variables.values() if variable.group is group]) for group in Group
    )
    return "\n\n".join(["# Configuration", INTRODUCTION.strip(), *sections]) + "\n"


def _section(group: Group, variables: Iterable[Variable]) -> str:
    rows = [f"| `{each.name}` | {each.default} | {each.help} |".replace("|  |", "| |") for each in variables]
    table = "\n".join([*HEADER, *rows]) if rows else ""
    parts = (f"## {group}", BEFORE.get(group, "").strip(), table, AFTER.get(group, "").strip())
    return "\n\n".join(part for part in parts if part)


if __name__ == "__main__":
    print(page(), end="")
