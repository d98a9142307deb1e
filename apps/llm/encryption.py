"""A field whose text is encrypted at rest."""

from typing import TYPE_CHECKING, Any, Self

from django.db import models

from apps.common.on_demand import on_demand

if TYPE_CHECKING:
    _BaseField = models.Field[str, str]
else:
    _BaseField = models.Field

# What encrypts takes a while to load, and few processes read a key.
cipher, decrypted = (on_demand(f"apps.common.encryption:{name}") for name in ("cipher", "decrypted"))

PURPOSE = b"loci.llm.connection-keys"


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
        ciphertext: bytes = cipher(PURPOSE).encrypt(value.encode()) if value else b""
        return ciphertext

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str:
        """Return the plain text, or an Undecryptable."""
        if not value:
            return ""
        text: str | None = decrypted(PURPOSE, bytes(value))
        return Undecryptable.wrap(bytes(value)) if text is None else text
