"""``manage.py reembed [--user EMAIL]``: embed all texts that are not yet embedded with the current model."""

import math
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.management.user_lookup import user_named
from apps.accounts.models import User
from apps.common.problems import Problem
from apps.extraction.jobs import embedding_jobs
from apps.extraction.models import EmbeddingJob

PROGRESS_INTERVAL = 320  # rows between two lines of progress


class Command(BaseCommand):
    help = "Recompute embeddings after a change of the embedding model. Can be interrupted and started again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="EMAIL", help="only this user's; default: all users")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        owners = User.objects.order_by("pk") if user is None else [user_named(user)]
        failed = [owner.email for owner in owners if not self._reembed(owner)]
        if failed:
            raise CommandError(f"Failed: {', '.join(failed)}.")

    def _reembed(self, owner: User) -> bool:
        """Run an embedding job of a user. Return True unless it failed."""
        try:
            job, _ = embedding_jobs.start_embedding_job(owner)
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

    def _progress(self, owner: User, job: EmbeddingJob) -> Callable[[int], None]:
        """Return a callback that adds up rows and prints the progress every PROGRESS_INTERVAL rows."""
        done = printed = 0

        def add_rows(rows: int) -> None:
            nonlocal done, printed
            done += rows
            if done - printed >= PROGRESS_INTERVAL:
                printed = done
                self.stderr.write(f"{owner.email}: {done} of {max(job.total, done)} ...", style_func=str)

        return add_rows
