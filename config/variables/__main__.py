"""``python -m config.variables`` prints `docs/configuration.md`."""

from config.variables import page

print(page(), end="")
