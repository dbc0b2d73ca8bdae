"""Does what is played agree with the exact value, for every system, at usual places and at edges?  One table of all.

Every system of docs/systems.md is played on at least five parameter sets, and each set's tokens per round and speed-up
are held against a value that shares no table with the kernel: a listing, a program, a chain of contexts, a closed form.
``python -m simspec.claims.agreement results/systems`` writes the table and every single set.
"""

from simspec.claims.agreement.case import Case, Quantity, System
from simspec.claims.agreement.systems import all_systems

__all__ = ["Case", "Quantity", "System", "all_systems"]
