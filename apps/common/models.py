"""Models of the heartbeats of the installation's processes, of rate limits, leases and metrics."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Heartbeat(models.Model):
    """Time of the last heartbeat of a part of the installation: a queue's worker; one row per part."""

    WITHOUT_OWNER = "is of the installation"

    part = models.CharField(primary_key=True, max_length=40)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.part} at {self.at:%Y-%m-%d %H:%M:%S}"


class RateLimit(models.Model):
    """Time up to which the allowance of a key is used; written by ``rate_limits`` only. The table is not logged."""

    WITHOUT_OWNER = "has the owner, or an address, in its key"

    key = models.CharField(primary_key=True, max_length=100)
    used_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.key


class Lease(models.Model):
    """Times up to which leases of a key hold; written by ``leases`` only. The table is not logged."""

    WITHOUT_OWNER = "has the owner in its key"

    key = models.CharField(primary_key=True, max_length=100)
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
