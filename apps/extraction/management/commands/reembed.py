"""``manage.py reembed [--user EMAIL]``: embed what is not yet embedded with the current model."""

import math
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import User
from apps.common.problems import Problem
from apps.extraction import embedding_jobs
from apps.extraction.models import EmbeddingJob

LEAST = 320  # rows between two lines of progress


class Command(BaseCommand):
    help = "Recompute embeddings after a change of the embedding model, in this process. Can be stopped and resumed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="EMAIL", help="this user's only; else everybody's")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        owners = User.objects.order_by("pk")
        if user is not None:
            owners = owners.filter(email__iexact=user)
            if not owners:
                raise CommandError(f"There is no user {user}.")
        failed = [owner.email for owner in owners if not self._reembed(owner)]
        if failed:
            raise CommandError(f"Not done: {', '.join(failed)}.")

    def _reembed(self, owner: User) -> bool:
        try:
            job = embedding_jobs.start_reembedding(owner)
        except Problem as problem:
            self.stderr.write(f"{owner.email}: {problem.detail}")
            return False
        if job is None:
            self.stdout.write(f"{owner.email}: nothing to do.")
            return True
        embedding_jobs.execute(job.pk, max_seconds=math.inf, on_progress=self._progress(owner, job))
        job.refresh_from_db()
        self.stdout.write(f"{owner.email}: {job.done} of {job.total} by {job.model}, {job.state}. {job.error}".strip())
        return job.state == EmbeddingJob.State.SUCCEEDED

    def _progress(self, owner: User, job: EmbeddingJob) -> Any:
        """Return a function that writes the progress every LEAST rows."""
        done = written = 0

        def note(rows: int) -> None:
            nonlocal done, written
            done += rows
            if done - written >= LEAST:
                written = done
                self.stderr.write(f"{owner.email}: {done} of {max(job.total, done)} ...", style_func=str)

        return note
