"""Theory claims as data, and the judge that decides them.

``python -m simspec.claims.…`` comes by here before it loads anything.  Compiled libraries that are being loaded swallow
a KeyboardInterrupt or turn it into a traceback, and nothing has been written by then: Ctrl-C ends the process at once,
until the command begins.
"""

import os
import signal
import sys
from typing import NoReturn


def stop_loading(*_: object) -> NoReturn:
    """One line, exit code 130."""
    os.write(2, b"simspec: stopped while loading\n")
    os._exit(130)


_STARTING = sys.argv[:1] == ["-m"]  # so it reads while Python looks for the module to run, and only then
if _STARTING and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, stop_loading)
