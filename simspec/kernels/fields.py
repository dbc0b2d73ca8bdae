"""What does the general loop know of a lane?  Fields of one flat array, and rows of what a policy is told."""

from simspec.kernels.words import LANES

KEEP, CARRY, ALONG, DRAWN = 0, 1, 2, 3
"""What the next row is: the same one; the one that follows from the outcome; one further for each emitted token; one
drawn by the outcome."""
FIXED, HEURISTIC, OWN, RULE, FORESEES = 0, 1, 2, 3, 4
"""What the next κ is: the same; up after a full round and down after another; what a user's function says; what a
function of `simspec.kernels.policies` says; by a table over the run that the round will have."""
(
    ROW, RUN, DRAFT, DRAFTED, ACCEPTED, FULL, PLACE, HOME, LENGTH, POSITION, HITS, EXAMINED, LAST, FLIPS, WAKES, OFF,
    SINCE, STALE,
) = range(0, 18 * LANES, LANES)  # fmt: skip
"""Field f of a lane is ``lanes[f + lane]``.  In one flat array, with bounds known at compile time, LLVM sees that
fields do not overlap and turns every pass into vectors; as many arrays most passes stay scalar."""
FIELDS = 18 * LANES
TOLD = 4
"""A policy is told four numbers of a round: κ asked for, drafts, accepted length, whether nothing was rejected."""
