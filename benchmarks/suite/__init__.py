"""How did the speed of each kernel change from commit to commit?  An airspeed velocity suite on `arms.py`."""

import sys
from pathlib import Path

_BENCHMARKS = str(Path(__file__).resolve().parents[1])
if _BENCHMARKS not in sys.path:
    sys.path.insert(0, _BENCHMARKS)
