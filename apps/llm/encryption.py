"""Encryption at rest, with a key derived from the installation's ``SECRET_KEY``."""

from base64 import urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    _BaseField = models.Field[str, str]
else:
    _BaseField = models.Field

HKDF_INFO = b"loci.llm.connection-keys"  # other uses of the same SECRET_KEY derive other keys


class Undecryptable(str):
    """Placeholder for a stored text that neither SECRET_KEY nor its fallbacks decrypt.

    It is an empty string that is truthy, since something is stored. Saving it writes the ciphertext back, so that the
    text can be read again once the operator restores the secret.
    """

    ciphertext: bytes

    @classmethod
    def wrap(cls, ciphertext: bytes) -> Self:
        """Return a placeholder for ``ciphertext``."""
        placeholder = cls()
        placeholder.ciphertext = ciphertext
        return placeholder

    def __bool__(self) -> bool:
        return True


class EncryptedTextField(_BaseField):
    """Text that is encrypted in the database (``bytea``) and plain on the model; an empty text is stored empty.

    Can't be used in filters, since each encryption of a text gives another ciphertext.
    """

    def get_internal_type(self) -> str:
        return "BinaryField"

    def get_prep_value(self, value: Any) -> bytes | None:
        """Return the ciphertext of a text."""
        if isinstance(value, Undecryptable):
            return value.ciphertext
        return _cipher().encrypt(value.encode()) if value else b""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str:
        """Return the plain text, or an Undecryptable."""
        if not value:
            return ""
        try:
            return _cipher().decrypt(bytes(value)).decode()
        except InvalidToken:
            return Undecryptable.wrap(bytes(value))


def _cipher() -> MultiFernet:
    """Return a cipher that encrypts with the current secret, and decrypts with it and the previous ones."""
    return MultiFernet([_fernet(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


@cache
def _fernet(secret: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=HKDF_INFO).derive(secret.encode())
    return Fernet(urlsafe_b64encode(derived))
