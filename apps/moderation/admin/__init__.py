"""Admin pages of moderation: the queue, rules, looks, the audit log, and the dashboard."""

from apps.moderation.admin.audit import ActionAdmin
from apps.moderation.admin.cases import CaseAdmin
from apps.moderation.admin.looks import LookAdmin
from apps.moderation.admin.rules import RuleAdmin

__all__ = ["ActionAdmin", "CaseAdmin", "LookAdmin", "RuleAdmin"]
