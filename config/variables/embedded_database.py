"""Variables of the section “The embedded database” of `docs/configuration.md`."""

from config.variables.section import Section

SECTION = Section(
    title="The embedded database",
    before="""
Unless `DATABASE_URL` is set, every `manage.py` command starts Postgres in `LOCI_HOME/postgres` if it is not running,
and the last one to end stops it. It listens on a Unix socket in a folder that is closed to other users of the machine.

Postgres refuses to run as root. For root, Loci makes a system user `loci-postgres` (or, without `useradd`, takes
`postgres` or `nobody`) that runs it. Where that user cannot pass through the folders above `LOCI_HOME`, as below
`/root`, `LOCI_HOME/postgres` is a link to a folder in `/var/lib/loci`. Permissions of existing folders are never
changed.
""",
)
