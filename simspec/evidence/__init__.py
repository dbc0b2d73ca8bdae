"""What do engines and real pairs of models say?  Logs and recorded acceptance, their tests, and fitted processes."""
