"""Is the difference between two runs real, and is either of them broken?"""
