"""Model of the heartbeats of the installation's processes."""

from django.db import models


class Heartbeat(models.Model):
    """Time of the last heartbeat of a part of the installation: a queue's worker; one row per part."""

    part = models.CharField(primary_key=True, max_length=40)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.part} at {self.at:%Y-%m-%d %H:%M:%S}"
