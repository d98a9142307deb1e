"""Runs and model calls as documents of the HTTP contract."""

from typing import Any

from apps.chats.dates import timestamp
from apps.extraction.models import ExtractionRun, ModelCall

OUTCOMES = ("passed", "superseded", "reconfirmed", "rejected", "merged")
USAGE = ("calls", "prompt_tokens", "completion_tokens")


def run_document(run: ExtractionRun) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "chat": str(run.chat_id),
        "state": run.state,
        "stage": run.stage,
        "tiers": run.tiers,
        "backend": run.backend,
        "model": run.model,
        "done": run.done,
        "total": run.total,
        "counts": dict.fromkeys(OUTCOMES, 0) | run.counts,
        "error": run.error,
        "started_at": timestamp(run.started_at),
        "finished_at": timestamp(run.finished_at),
        "llm": {name: run.llm.get(name, 0) for name in USAGE},
    }


def call_document(call: ModelCall) -> dict[str, Any]:
    return {
        "id": str(call.pk),
        "stage": call.stage,
        "task": call.task,
        "reply": call.reply,
        "reasoning": call.reasoning,
        "error": call.error,
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "seconds": round(call.seconds, 3),
        "at": timestamp(call.at),
    }
