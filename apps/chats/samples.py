"""Stories that a newcomer may open. The app that has one registers it in ``AppConfig.ready()``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """A chat file to be imported under ``title``."""

    title: str
    path: Path


_samples: list[Sample] = []


def register(sample: Sample) -> None:
    if sample not in _samples:
        _samples.append(sample)


def first_sample() -> Sample | None:
    return next(iter(_samples), None)
