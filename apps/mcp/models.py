"""Programs that registered themselves, and what their users allow them."""

from django.db import models
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.common.database.ids import uuid7
from apps.common.scoping import OwnedModel


class OAuthClient(models.Model):
    """Program that registered itself. It has no secret: each authorization is proved by PKCE."""

    WITHOUT_OWNER = "registers before anybody is signed in"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100)
    redirect_uris = models.JSONField(help_text="The only addresses that codes are sent to, compared as they are.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"OAuth client {self.pk}"

    @property
    def client_id(self) -> str:
        """Return the id as oauthlib asks for it."""
        return str(self.pk)


class OAuthGrant(OwnedModel):
    """Consent of a user to a client. The code and each refresh token name the grant and its ``step``, signed.

    The code is of step 0, the first refresh token of step 1, and so on; only that of the current step is accepted. One
    of an earlier step was used twice, by two parties: it ends the grant.
    """

    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="grants")
    scope = models.CharField(max_length=8, choices=ApiToken.Scope.choices)
    redirect_uri = models.TextField(help_text="Where the code was sent; the exchange must name the same.")
    code_challenge = models.CharField(max_length=128, help_text="Of PKCE, by S256.")
    resource = models.TextField(blank=True, default="")
    step = models.PositiveIntegerField(default=0)
    token = models.OneToOneField(ApiToken, null=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "client"], name="oauth_grant_owner_client")]
        constraints = [models.CheckConstraint(condition=models.Q(scope__in=["read", "write"]), name="oauth_scope")]
