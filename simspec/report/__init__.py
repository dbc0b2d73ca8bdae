"""How can a result be shown to someone without simspec?  As one self-contained offline HTML page."""

from simspec.report.build import report

__all__ = ["report"]
