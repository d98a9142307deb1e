"""Roles of staff: groups with permissions, created after each migration."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

from apps.moderation.models import Kind

MODERATORS, ADMINISTRATORS = "Moderators", "Administrators"
# Nobody of these may edit users: with an address and a password one could sign in as somebody else.
KIND_PERMISSIONS = tuple(f"moderation.moderate_{kind}" for kind in Kind.values)
# A moderator sees what was reported or flagged, and no list of users or chats.
MODERATOR_PERMISSIONS = (
    *("moderation.view_case", "moderation.decide_case", "moderation.suspend_user", "moderation.look_at_content"),
    *("moderation.view_action", "moderation.view_rule", *KIND_PERMISSIONS),
)
ADMINISTRATOR_PERMISSIONS = (
    *MODERATOR_PERMISSIONS,
    *("moderation.ban_user", "moderation.view_dashboard", "moderation.view_look", "moderation.look_at_chat"),
    *("accounts.view_user", "chats.view_chat"),
    *("moderation.add_rule", "moderation.change_rule", "moderation.delete_rule"),
    *("llm.view_usage", "llm.view_tokenlimit", "llm.add_tokenlimit", "llm.change_tokenlimit"),
    *("extraction.view_extractionrun", "accounts.view_apitoken", "accounts.change_apitoken"),
)


def create_roles(using: str = "default", **kwargs: Any) -> None:
    """Create the groups, and give them their permissions. Further permissions of a group are kept."""
    for name, labels in ((MODERATORS, MODERATOR_PERMISSIONS), (ADMINISTRATORS, ADMINISTRATOR_PERMISSIONS)):
        group, _ = Group.objects.using(using).get_or_create(name=name)
        named = Q()
        for label in labels:
            app, _, codename = label.partition(".")
            named |= Q(content_type__app_label=app, codename=codename)
        group.permissions.add(*Permission.objects.using(using).filter(named))
