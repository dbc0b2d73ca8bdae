"""Which tree of drafts is worth its nodes?  The best one, what a budget buys, and chains at the same cost."""
