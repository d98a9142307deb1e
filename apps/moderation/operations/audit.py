"""The audit log, and what a moderator may do."""

from uuid import UUID

from django.core.exceptions import PermissionDenied

from apps.accounts.models import User
from apps.moderation.models import Action, Case, Kind, Look
from apps.moderation.targets import Target


def require(moderator: User, permission: str) -> None:
    """Raise PermissionDenied unless the moderator has a permission of this app."""
    if not (moderator.is_active and moderator.is_staff and moderator.has_perm(f"moderation.{permission}")):
        raise PermissionDenied("Your role does not allow this.")


def require_kind(moderator: User, kind: str) -> None:
    """Raise PermissionDenied unless the moderator may see cases about this kind of thing."""
    if kind not in kinds_of(moderator):
        raise PermissionDenied("Your role does not allow this kind of thing.")


def kinds_of(moderator: User) -> list[str]:
    """Return the kinds of things about which the moderator may see cases."""
    return [kind for kind in Kind.values if moderator.has_perm(f"moderation.moderate_{kind}")]


def record(moderator: User, verb: str, about: Case | Look | Target, reason: str = "") -> Action:
    """Add an entry to the audit log, in the transaction of what it records."""
    case_id: UUID | None = about.pk if isinstance(about, Case) else getattr(about, "case_id", None)
    return Action.objects.create(
        moderator_id=moderator.pk,
        moderator=moderator.email,
        verb=verb,
        case_id=case_id,
        user_id=about.owner_id,
        kind=about.kind,
        target_id=about.pk if isinstance(about, Target) else about.target_id,
        reason=reason,
    )
