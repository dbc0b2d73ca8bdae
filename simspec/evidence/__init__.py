"""What do real pairs of models say?  Recorded acceptance, its tests against the assumptions, and fitted processes."""
