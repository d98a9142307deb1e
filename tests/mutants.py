"""Change one thing at a time in a module, and see whether its tests notice: `make mutants`.

Each mutant is tried in a copy of the tree, with the quick tests of its module. Prints those that lived, and the share
of those that were killed. Mutants with which nothing can be imported don't count. Needs cosmic-ray, of which only the
operators are used: they make the mutants.
"""

import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).parents[1]
MARKS = "not e2e and not worker and not explore"
TIMEOUT = 900  # seconds; a mutant whose tests take longer loops, and counts as killed
FAILED, TIMED_OUT = 1, -1  # exit codes; those above 1 are pytest's for errors before the tests

# The tests of each module. Those of workers and browsers are left out, and those that the gate does not run.
SUITES = {
    "apps/chats/operations/drafts.py": "tests/contract/test_patch_operations.py tests/contract/test_message_data.py",
    "apps/chats/operations/message_states.py": "tests/contract/test_patch_operations.py",
    "apps/chats/operations/messages.py": "tests/contract/test_sync.py tests/contract/test_patch_operations.py"
    " tests/exchange/test_import_jobs.py::test_messages_are_stored_in_batches_of_bounded_weight",
    "apps/chats/operations/metadata.py": "tests/contract/test_metadata.py",
    "apps/chats/operations/patching.py": "tests/contract/test_patch_operations.py tests/contract/test_message_data.py",
    "apps/chats/operations/undo.py": "tests/contract/test_patch_operations.py tests/contract/test_metadata.py",
    "apps/chats/scenes.py": "tests/contract/test_message_data.py tests/chats/test_tools.py",
    "apps/common/jobs/transitions.py": "tests/common/test_jobs.py",
    "apps/common/jobs/turns.py": "tests/common/test_jobs.py",
    "apps/extraction/progress.py": "tests/extraction/test_progress.py tests/extraction/test_runs.py",
    "apps/extraction/memories/outcomes.py": "tests/extraction/test_reading_again.py tests/extraction/test_pipeline.py",
    "apps/extraction/memories/proposals.py": "tests/extraction/test_reading_again.py tests/extraction/test_pipeline.py",
    "apps/prompts/filling/fill.py": "tests/prompts/test_budgets.py tests/prompts/test_any_memories.py",
    "apps/llm/http/addresses.py": "tests/llm/test_addresses.py",
    "apps/memories/operations/invalidation.py": "tests/memories/test_inherited_invalidation.py"
    " tests/memories/test_changed_texts.py tests/extraction/engine/test_changes.py",
    "apps/memories/operations/verdict_writing.py": "tests/extraction/test_reading_again.py"
    " tests/memories/test_branching.py",
    "apps/search/hits.py": "tests/search/test_search.py tests/journal/test_journal_api.py",
    "apps/search/scope.py": "tests/search/test_search.py tests/journal/test_journal_api.py",
    "apps/memories/verdicts/judging.py": "tests/memories/test_verdicts.py",
    "apps/memories/verdicts/known_statements.py": "tests/memories/test_verdicts.py",
    "apps/memories/witnesses.py": "tests/prompts/test_group_prompts.py tests/extraction/engine/test_group.py",
    "apps/sync/idempotency.py": "tests/contract/test_idempotency.py",
    "apps/sync/settings_documents.py": "tests/contract/test_settings.py tests/sync/test_settings_log.py",
}
# Of cosmic-ray's operators, those whose mutants a person might write by mistake.
OPERATORS = [
    f"core/{name}"
    for name in """
        AddNot NumberReplacer RemoveDecorator ReplaceAndWithOr ReplaceOrWithAnd ReplaceTrueWithFalse
        ReplaceFalseWithTrue ReplaceBreakWithContinue ReplaceContinueWithBreak ReplaceUnaryOperator_Delete_Not
        ZeroIterationForLoop ReplaceBinaryOperator_Add_Sub ReplaceBinaryOperator_Sub_Add
        ReplaceBinaryOperator_BitOr_BitAnd ReplaceBinaryOperator_BitAnd_BitOr ReplaceComparisonOperator_Eq_NotEq
        ReplaceComparisonOperator_NotEq_Eq ReplaceComparisonOperator_Lt_LtE ReplaceComparisonOperator_LtE_Lt
        ReplaceComparisonOperator_Gt_GtE ReplaceComparisonOperator_GtE_Gt ReplaceComparisonOperator_Is_IsNot
        ReplaceComparisonOperator_IsNot_Is
    """.split()
]


def mutants_of(path: str) -> Iterator[str]:
    """Yield the text of each mutant of a module."""
    code = (ROOT / path).read_text()
    for name in OPERATORS:
        occurrence = 0
        while mutant := mutate_code(code, get_operator(name)(), occurrence):
            yield mutant
            occurrence += 1


def copy_tree(target: Path) -> None:
    """Copy all files that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name, follow_symlinks=False)  # a link may lead to a folder


def run_tests(tree: Path, tests: str) -> int:
    """Run tests in the copy of the tree up to the first failure. Return pytest's exit code, or TIMED_OUT."""
    command = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-x", "-q", "-m", MARKS]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests.split()], cwd=tree, env=environment, timeout=TIMEOUT, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    return done.returncode


def try_mutant(tree: Path, path: str, mutant: str) -> str:
    """Return whether a mutant was "killed", "lived" or is "broken", and print one that lived."""
    original = (ROOT / path).read_text()
    (tree / path).write_text(mutant)
    code = run_tests(tree, SUITES[path])
    (tree / path).write_text(original)
    if code == 0:
        lines = difflib.unified_diff(original.splitlines(), mutant.splitlines(), path, path, lineterm="", n=1)
        print("\n".join(lines), flush=True)
        return "lived"
    return "killed" if code in (FAILED, TIMED_OUT) else "broken"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="parts of the paths of modules; by default all of them")
    parser.add_argument("--sample", type=int, help="number of mutants of each module to try, taken at random")
    parser.add_argument("--seed", type=int, default=0, help="of the random sample")
    options = parser.parse_args()
    paths = [path for path in SUITES if not options.modules or any(part in path for part in options.modules)]
    mutants = []
    for path in paths:
        found = list(mutants_of(path))
        if options.sample and options.sample < len(found):
            found = random.Random(options.seed).sample(found, options.sample)
        mutants += [(path, mutant) for mutant in found]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy_tree(tree)
        for path in sorted({path for path, _ in mutants}):
            if run_tests(tree, SUITES[path]) != 0:
                sys.exit(f"The tests of {path} fail without a mutant: {SUITES[path]}")
        for number, (path, mutant) in enumerate(mutants, 1):
            counts[verdict := try_mutant(tree, path, mutant)] += 1
            print(f"{number} of {len(mutants)}: {path} {verdict}", flush=True)
    tried = counts["killed"] + counts["lived"]
    print(f"{counts['killed']} of {tried} mutants were killed: {counts['killed'] / max(tried, 1):.0%}")


if __name__ == "__main__":
    main()
