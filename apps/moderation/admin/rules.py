"""Admin page of the rules."""

from django.contrib import admin

from apps.moderation.models import Rule


@admin.register(Rule)
class RuleAdmin(admin.ModelAdmin):
    """Admin page of rules. What was written before a rule is not read again."""

    list_display = ("name", "form", "is_enabled", "timeouts", "updated_at")
    list_filter = ("form", "is_enabled")
    search_fields = ("name",)
    readonly_fields = ("timeouts", "created_at", "updated_at")
