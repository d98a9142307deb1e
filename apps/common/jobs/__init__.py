"""Lifecycle of background jobs: an abstract model and its transitions.

| Transition      | From                                        | To                   |
|-----------------|---------------------------------------------|----------------------|
| (create)        |                                             | queued               |
| ``claim``       | queued; running without a heartbeat         | running              |
| ``claim``       | the same, already claimed MAX_CLAIMS times  | failed               |
| ``requeue``     | running, by the worker that owns it         | queued               |
| ``postpone``    | running, by the worker that owns it         | queued, paused       |
| ``end``         | running, by the worker that owns it         | succeeded, failed    |
| ``fail_orphans``| running without a heartbeat                 | failed               |
| ``pause``       | queued, running                             | paused               |
| ``resume``      | paused, queued                              | queued               |
| ``cancel``      | queued, running, paused                     | cancelled            |
| ``take_lost``   | queued, with a wait that is over            | queued, without      |

No transition leaves a terminal state; from any other state than those listed, a transition does nothing.

Jobs of owners who are banned wait, and those of suspended owners too unless the kind ``runs_suspended``.

A queued job with ``wait_until`` can't be claimed before that time; ``resume`` and ``take_lost`` end the wait.

A worker owns a job while the job is running and ``claim`` in its row is the one that the worker received. If
the job is cancelled, paused or claimed by another worker, the worker's next heartbeat raises ClaimLost. A job
without a heartbeat for RUN_HEARTBEAT_TIMEOUT seconds has lost its worker and may be claimed by another.

A message in a queue means "run the next job of this queue": ``run_next`` chooses it, so that owners take turns however
many jobs each of them has, and what a person waits for comes before the rest of their jobs. Jobs give way after a time
slice: ``execute`` of their kind re-queues them.

A queued job has one message on its way. Who finds a job that is queued already sends none, and a sweep sends one again
only once the queue is empty (``take_lost``).
"""

from apps.common.jobs.models import ACTIVE_STATES as ACTIVE_STATES
from apps.common.jobs.models import OPEN_STATES as OPEN_STATES
from apps.common.jobs.models import PLACE as PLACE
from apps.common.jobs.models import STATES as STATES
from apps.common.jobs.models import TERMINAL_STATES as TERMINAL_STATES
from apps.common.jobs.models import Job as Job
from apps.common.jobs.models import JobQuerySet as JobQuerySet
from apps.common.jobs.models import Kind as Kind
from apps.common.jobs.models import kinds as kinds
from apps.common.jobs.models import place_in_queue as place_in_queue
from apps.common.jobs.models import queue_of as queue_of
from apps.common.jobs.transitions import MAX_CLAIMS as MAX_CLAIMS
from apps.common.jobs.transitions import SLICE_SECONDS as SLICE_SECONDS
from apps.common.jobs.transitions import ClaimLost as ClaimLost
from apps.common.jobs.transitions import cancel as cancel
from apps.common.jobs.transitions import claim as claim
from apps.common.jobs.transitions import end as end
from apps.common.jobs.transitions import fail_on_error as fail_on_error
from apps.common.jobs.transitions import fail_orphans as fail_orphans
from apps.common.jobs.transitions import heartbeat as heartbeat
from apps.common.jobs.transitions import job_changed as job_changed
from apps.common.jobs.transitions import lock_owner as lock_owner
from apps.common.jobs.transitions import owned as owned
from apps.common.jobs.transitions import pause as pause
from apps.common.jobs.transitions import postpone as postpone
from apps.common.jobs.transitions import requeue as requeue
from apps.common.jobs.transitions import resume as resume
from apps.common.jobs.transitions import take_lost as take_lost
from apps.common.jobs.turns import BACKGROUND_PERIOD as BACKGROUND_PERIOD
from apps.common.jobs.turns import TURN_PERIOD as TURN_PERIOD
from apps.common.jobs.turns import claim_next as claim_next
from apps.common.jobs.turns import next_of_owner as next_of_owner
from apps.common.jobs.turns import run_next as run_next
from apps.common.jobs.turns import send_lost as send_lost
from apps.common.jobs.turns import send_on_commit as send_on_commit
