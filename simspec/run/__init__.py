"""From a plan to a dataset: layout, threads, progress, Parquet, reading back."""
