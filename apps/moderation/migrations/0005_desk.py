"""What the moderators' desk needs: reasons of reports, the end of a suspension, permissions for each kind of thing."""

from typing import Any

import django.contrib.postgres.fields
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

REASONS = r"""
UPDATE moderation_case SET reasons = given.reasons
FROM (SELECT case_id, array_agg(DISTINCT reason) reasons FROM moderation_report GROUP BY case_id) given
WHERE given.case_id = moderation_case.id;
-- The audit log keeps the days of each suspension; the account has the end of the longest one alone.
UPDATE moderation_case SET suspended_until = moderation_case.decided_at + make_interval(days => given.days)
FROM (
    SELECT DISTINCT ON (case_id) case_id, substring(reason FROM '\[(\d{1,4}) days\]$')::integer days
    FROM moderation_action WHERE verb IN ('suspend', 'suspend + hide') ORDER BY case_id, at DESC
) given
WHERE given.case_id = moderation_case.id AND moderation_case.decision = 'suspend';
"""
KINDS = ("character", "message", "memory", "persona", "lorebook")
# Of whom the group of moderators keeps no list.
LISTS = ("view_user", "view_chat")


def keep_roles(apps: Any, schema_editor: Any) -> None:
    """Let who may decide or look go on to do it with all kinds, and take the lists from the group of moderators."""
    database = schema_editor.connection.alias
    groups = apps.get_model("auth", "Group").objects.using(database)
    users = apps.get_model("accounts", "User")._base_manager.using(database)
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    may = permissions.filter(
        content_type__app_label="moderation", codename__in=("decide_case", "look_at_content", "view_case")
    )
    holders = [*groups.filter(permissions__in=may).distinct(), *users.filter(user_permissions__in=may).distinct()]
    if not holders:
        return
    app = apps.get_app_config("moderation")
    app.models_module = True
    create_permissions(app, apps=apps, using=database, verbosity=0)
    app.models_module = None
    names = [f"moderate_{kind}" for kind in KINDS]
    kinds = list(permissions.filter(content_type__app_label="moderation", codename__in=names))
    for holder in holders:
        held = holder.permissions if hasattr(holder, "permissions") else holder.user_permissions
        held.add(*kinds)
    for group in groups.filter(name="Moderators"):
        group.permissions.remove(*permissions.filter(codename__in=LISTS, content_type__app_label__in=("accounts", "chats")))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_renewable_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("moderation", "0004_case_copies"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="case",
            options={
                "default_permissions": ("view",),
                "permissions": [
                    ("decide_case", "Can claim and decide cases"),
                    ("suspend_user", "Can suspend users"),
                    ("ban_user", "Can ban users"),
                    ("look_at_content", "Can look at what a case is about"),
                    ("look_at_chat", "Can look at any chat, with a reason"),
                    ("view_dashboard", "Can view the dashboard"),
                    *((f"moderate_{kind}", f"Can see and decide cases about a {kind}") for kind in KINDS),
                ],
            },
        ),
        migrations.AddField(
            model_name="case",
            name="reasons",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("minors", "Sexual content with minors"),
                        ("sexual", "Sexual content"),
                        ("violence", "Violence or self-harm"),
                        ("harassment", "Harassment or hate"),
                        ("privacy", "Somebody's private data"),
                        ("illegal", "Something else that is illegal"),
                        ("other", "Something else"),
                    ],
                    max_length=16,
                ),
                default=list,
                editable=False,
                help_text="Of its reports, which are deleted with the account of who made them.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="case",
            name="suspended_until",
            field=models.DateTimeField(blank=True, help_text="What it decided of the owner.", null=True),
        ),
        migrations.RunSQL(REASONS, migrations.RunSQL.noop),
        migrations.RunPython(keep_roles, migrations.RunPython.noop),
    ]
