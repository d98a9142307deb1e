"""Let other apps offer chats to new users, who have none of their own to import."""

from dataclasses import dataclass
from pathlib import Path

from apps.common.registry import Registry


@dataclass(frozen=True)
class Sample:
    """A chat file that a new user may import under ``title``."""

    title: str
    path: Path


samples: Registry[Sample] = Registry()
