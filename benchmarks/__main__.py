"""``python -m benchmarks [NAME ...]``: the named benchmarks, or all, on a database of their own."""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

BENCHMARKS = ["sync", "wire", "throughput", "imports", "search", "catchup"]


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as home:
        # Open to passing through, so that the database's own user gets in where we are root.
        Path(home).chmod(0o711)
        (Path(home) / "static").mkdir()
        os.environ |= {"LOCI_HOME": home, "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "WARNING"}
        import django
        from django.core.management import call_command

        from apps.launcher import embedded_postgres

        django.setup()
        with embedded_postgres.running(Path(home)):
            call_command("migrate", verbosity=0)
            for name in names or BENCHMARKS:
                print(f"== {name}", flush=True)
                import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
