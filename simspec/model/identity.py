"""When are two questions the same?  When the SHA-256 of their canonical JSON is the same."""

from __future__ import annotations

import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, shortest floats and no NaN, so that equal questions give equal text.

    Examples
    --------
    >>> canonical_json({"rho": -0.0, "alpha": 0.7})
    '{"alpha":0.7,"rho":0.0}'
    """
    return _ENCODER.encode(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value + 0.0 if isinstance(value, float) else value  # -0.0 + 0.0 is 0.0


def digest(value: Any) -> str:
    """SHA-256 of `canonical_json` in 64 hexadecimal digits.

    Examples
    --------
    >>> digest({"type": "iid", "alpha": 0.7})[:12]
    'bb22fb58d8a9'
    """
    import hashlib  # loads OpenSSL, which an exact answer does not need

    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
