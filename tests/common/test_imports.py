"""A process loads what it uses: commands that don't read, embed or serve pages load none of what does."""

import os
import subprocess
import sys
from importlib import import_module

from apps.common.on_demand import known
from config.env import ROOT

HEAVY = (
    *("numpy", "onnxruntime", "tokenizers", "httpx2", "PIL", "markdown_it", "regex", "cryptography"),
    *("drf_spectacular.openapi", "apps.moderation.admin.cases", "config.urls", "allauth.account.forms"),
    *("apps.english.words", "apps.builtin.tasks.selection", "apps.extraction.tasks", "apps.evaluation.data"),
    *("apps.chats.operations", "apps.prompts.operations", "apps.search.service", "apps.llm.backends.connected"),
)
AFTER_SETUP = """
import sys
import django
django.setup()
from django.core.management import load_command_class
assert not load_command_class("apps.accounts", "token").requires_system_checks
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_a_light_command_loads_nothing_heavy() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", AFTER_SETUP, *HEAVY]
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.split() == []


def test_each_function_that_is_loaded_on_demand_exists() -> None:
    assert len(list(known())) > 50
    for found in list(known()):  # importing one may name others
        assert callable(getattr(import_module(found.module), found.name)), found.path
