"""Second factors: how their secrets are stored, and what operators do with them."""

import secrets

import structlog
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django.db import transaction

from apps.accounts.models import User
from apps.common.encryption import cipher, decrypted

PURPOSE = b"loci.accounts.second-factors"
SEALED = ("secret", "seed")  # members of an authenticator's data that are encrypted

log = structlog.get_logger(__name__)


class MFAAdapter(DefaultMFAAdapter):
    """Adapter that encrypts the secrets of authenticator apps and of recovery codes."""

    def encrypt(self, text: str) -> str:
        """Return the ciphertext of a secret."""
        return cipher(PURPOSE).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return a secret; one that matches no code if neither SECRET_KEY nor its fallbacks decrypt it."""
        text = decrypted(PURPOSE, encrypted_text.encode())
        if text is None:
            log.error("second_factor_undecryptable")
            return secrets.token_hex(40).translate(str.maketrans("0189", "ghij"))  # also valid in base 32
        return text


def rotate_second_factors() -> tuple[int, int]:
    """Encrypt all secrets with the current SECRET_KEY. Return how many were, and how many can't be read."""
    done = unreadable = 0
    for pk in Authenticator.objects.filter(data__has_any_keys=SEALED).values_list("pk", flat=True):
        try:
            done += _rotate(pk)
        except InvalidToken:
            unreadable += 1
    return done, unreadable


@transaction.atomic
def _rotate(pk: int) -> bool:
    authenticator = Authenticator.objects.select_for_update().filter(pk=pk).first()
    if authenticator is None:
        return False
    sealed = {name: authenticator.data[name] for name in SEALED if name in authenticator.data}
    rotated = {name: cipher(PURPOSE).rotate(text.encode()).decode() for name, text in sealed.items()}
    authenticator.data = {**authenticator.data, **rotated}
    authenticator.save(update_fields=["data"])
    return True


def remove_second_factors(user: User) -> int:
    """Remove all second factors of a user who has lost them. Return how many there were."""
    return Authenticator.objects.filter(user=user).delete()[0]
