"""Which κ, how sure, and what would settle it?"""
