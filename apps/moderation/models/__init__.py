"""Cases of moderation, reports and flags, rules, decisions, looks into private chats, and the audit log."""

from apps.moderation.models.audit import Action, Look
from apps.moderation.models.cases import Case, Flag, Notice, Report
from apps.moderation.models.choices import Decision, Kind, Reason
from apps.moderation.models.rules import Rule, ScanJob

__all__ = ["Action", "Case", "Decision", "Flag", "Kind", "Look", "Notice", "Reason", "Report", "Rule", "ScanJob"]
