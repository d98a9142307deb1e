"""Admin pages of users, tokens and invitations."""

import datetime as dt
from typing import Any

import allauth.mfa.admin  # noqa: F401 - registers what is taken back below, whichever is loaded first
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, Invitation, User
from apps.accounts.operations import delete_account, revoke_token
from apps.accounts.sign_in.invitations import create_invitation
from apps.accounts.sign_in.second_factors import remove_second_factors
from apps.common.admin import ClosedListAdmin, OwnedAdmin

admin.site.unregister(Authenticator)  # its data is secret; users remove their factors, and an action below

INVITATION_DAYS = 14  # for which an invitation is valid, unless its form says otherwise


@admin.register(User)
class AccountAdmin(ClosedListAdmin, UserAdmin):
    """Admin page of users."""

    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    readonly_fields = ("date_joined", "last_login")
    actions = ("remove_factors",)
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        (_("Dates"), {"fields": ("date_joined", "last_login")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)

    @admin.action(description=_("Remove second factors"), permissions=["change"])
    def remove_factors(self, request: HttpRequest, queryset: Any) -> None:
        """Remove the second factors of users who have lost them."""
        for user in queryset:
            if remove_second_factors(user):
                self.log_change(request, user, "Removed second factors.")

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Delete the user at once, with all rows and files."""
        delete_account(obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Delete users at once, with all rows and files."""
        for user in queryset:
            delete_account(user)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return only counts of the rows that deletion removes: their names would reveal what users wrote.

        No further permissions are needed: deleting an account always deletes all its rows.
        """
        _, counts, _, protected = super().get_deleted_objects(objs, request)
        return [str(user) for user in objs], counts, set(), protected


@admin.register(ApiToken)
class ApiTokenAdmin(OwnedAdmin):
    """Read-only admin page of tokens, with the action to revoke them."""

    list_display = ("name", "owner", "hint", "scope", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("scope",)
    search_fields = ("name", "owner__email")
    fields = readonly_fields = ("owner", *("name", "hint", "scope"), *list_display[4:])
    actions = ("revoke",)

    @admin.action(description=_("Revoke"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        """Revoke the selected tokens."""
        for token in queryset:
            revoke_token(token)


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):
    """Admin page of invitations. The link of one is shown once, when it is added."""

    list_display = ("created_at", "note", "expires_at", "used_at", "used_by")
    list_select_related = ("used_by",)
    readonly_fields = ("created_at", "used_at", "used_by")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the values of a new invitation's form."""
        return {"expires_at": timezone.now() + dt.timedelta(days=INVITATION_DAYS)}

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Save an invitation, and show the link of a new one."""
        if change:
            super().save_model(request, obj, form, change)
            return
        created, key = create_invitation(obj.note, obj.expires_at)
        obj.pk = created.pk
        link = request.build_absolute_uri(reverse("invitation", args=[key]))
        messages.info(request, f"The link of the invitation, which is shown only now: {link}")
