"""`jobs.outcomes` with the follower of the job's kind: for all who bring news of any call."""

from functools import partial

from jobs import outcomes
from jobs.kinds import follower_of

apply = partial(outcomes.apply, follower_of=follower_of)
follow_submit = partial(outcomes.follow_submit, follower_of=follower_of)
give_up = partial(outcomes.give_up, follower_of=follower_of)
give_back = partial(outcomes.give_back, follower_of=follower_of)
mark_overdue = partial(outcomes.mark_overdue, follower_of=follower_of)
await_output = partial(outcomes.await_output, follower_of=follower_of)
