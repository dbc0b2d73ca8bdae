"""Did acceptance change along a log, when, by how much, did κ change with it, and would another κ pay?"""
