"""Which processes explain rounds, and do they explain them?"""
