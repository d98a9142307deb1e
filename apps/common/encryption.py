"""Encryption at rest, with keys derived from the installation's ``SECRET_KEY``."""

from base64 import urlsafe_b64encode
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def cipher(purpose: bytes) -> MultiFernet:
    """Return a cipher that encrypts with the current secret, and decrypts with it and the previous ones.

    Each purpose has a key of its own.
    """
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_fernet(secret, purpose) for secret in secrets])


def decrypted(purpose: bytes, ciphertext: bytes) -> str | None:
    """Return the text, or None if neither the current secret nor a previous one decrypts it."""
    try:
        return cipher(purpose).decrypt(ciphertext).decode()
    except InvalidToken:
        return None


@cache
def _fernet(secret: str, purpose: bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
    return Fernet(urlsafe_b64encode(derived))
