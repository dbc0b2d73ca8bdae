"""What do the models of other systems say of published figures, from published inputs alone?  Reported, never tuned.

Every row takes what a source measures of a draft (rates by depth, accuracies of heads, coverage of ranks, times) and
predicts what the same source, or a benchmark, reports of a round.  A miss says which input is missing.
``python -m simspec.claims.system_figures results/systems`` plays the rows and writes the page and its Parquet file.
"""

from simspec.claims.system_figures.groups import all_groups, figures
from simspec.claims.system_figures.row import Group, Played, Predicted

__all__ = ["Group", "Played", "Predicted", "all_groups", "figures"]
