"""Counts read from real engines and traces, and processes fitted to them."""
