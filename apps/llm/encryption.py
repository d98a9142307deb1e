"""Secrets at rest: sealed with a key that is derived from the installation's ``SECRET_KEY``."""

from base64 import urlsafe_b64encode
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

PURPOSE = b"loci.llm.connection-keys"  # so that no other use of the same secret yields the same key


class SealBroken(ValueError):
    """It was sealed with a ``SECRET_KEY`` that the installation has no longer, or is damaged."""


def seal(text: str) -> bytes:
    return _boxes().encrypt(text.encode())


def unseal(sealed: bytes | memoryview) -> str:
    """The text that was sealed, with the present secret or one of the former. Raises SealBroken."""
    try:
        return _boxes().decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise SealBroken("The stored key was sealed with another SECRET_KEY. Enter it again.") from None


def _boxes() -> MultiFernet:
    """The present secret seals; the former ones only open."""
    return MultiFernet([_box(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


@cache
def _box(secret: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(secret.encode())
    return Fernet(urlsafe_b64encode(derived))
