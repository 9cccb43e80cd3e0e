"""Several answers of one instant, one after the other.

Model
-----
A query with ANSWERS has an answer of each instant for each of its deadlines, all counted from the release. *Stage* i is
the stretch from deadline i - 1 (the release, for the first) to deadline i. Its answer, number i, may be begun when the
stage begins and is due when it ends; until then the firing waits (:mod:`punctual.schedule.stages.waiting`). In a replay
at full speed nothing waits: all numbers are answered together.

A firing ends with its last number, and sooner where somebody cancels it, or where its last deadline has passed: then
the next answer is the last one (:mod:`punctual.schedule.stages.endings`). That is a decision, so it is in the journal.
What waits while batches become a base is written down in it (:mod:`punctual.schedule.stages.open_instants`).
"""
