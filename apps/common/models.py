"""Models of rate limits, leases and metrics."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class RateLimit(models.Model):
    """Time up to which the allowance of a key is used; written by ``rate_limits`` only. The table is not logged."""

    WITHOUT_OWNER = "has the owner, or an address, in its key"

    key = models.CharField(primary_key=True, max_length=100)
    used_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.key


class Lease(models.Model):
    """Holders of a key in their order, and when the lease of each ends; written by ``leases`` only.

    The table is not logged.
    """

    WITHOUT_OWNER = "has the owner, a row of theirs, or a queue, in its key"

    key = models.CharField(primary_key=True, max_length=100)
    holders = ArrayField(models.UUIDField())
    ends = ArrayField(models.DateTimeField())

    def __str__(self) -> str:
        return self.key


class Metric(models.Model):
    """Value of a counter over all processes; written by ``metrics`` only. The table is not logged."""

    WITHOUT_OWNER = "is of the installation"

    sample = models.TextField(primary_key=True)
    value = models.FloatField(default=0)

    def __str__(self) -> str:
        return self.sample
