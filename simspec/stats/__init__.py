"""From integer tallies and costs to numbers with error bars."""
