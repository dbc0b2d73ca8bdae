"""What do controllers of κ lose, how fast do they learn, do they make published rounds?  The folder results/control.

``python -m simspec.claims.control_figures results/control`` writes it anew: a README.md that says what is seen, and a
small Parquet file per table.
"""
