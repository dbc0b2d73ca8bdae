"""How often do intervals hold the exact value, and how often is the judge wrong?  The folder results/coverage.

``python -m simspec.claims.coverage results/coverage`` plays 20,000 runs of each setting and judges 20,000 seeds.
"""
