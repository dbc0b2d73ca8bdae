"""What is an address, what may stand in it, and which library reaches it?  Never a password or a key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from simspec.model import DatasetError
from simspec.text import clean

OPTIONS = frozenset({
    "endpoint_override", "scheme", "region", "force_virtual_addressing", "allow_delayed_open", "retry_limit_seconds",
    "enable_tls", "credential_kind", "blob_storage_authority", "blob_storage_scheme", "dfs_storage_authority",
    "dfs_storage_scheme", "user", "replication", "buffer_size", "default_block_size",
})  # fmt: skip
"""What may follow ``?``: where a store is and how it is spoken to; none of them is a secret."""
DEFAULTS = {"s3": "allow_delayed_open=true", "gs": "retry_limit_seconds=10", "gcs": "retry_limit_seconds=10"}
"""A small file of S3 in one request and not three; Google's library would ask again for a quarter of an hour."""
_URL = re.compile(r"([a-z][a-z0-9+.:-]+)://([^?]*)(?:\?(.*))?", re.IGNORECASE | re.DOTALL)
_ACCOUNT = re.compile(r"[A-Za-z0-9$._-]+@[A-Za-z0-9._-]+(:[0-9]+)?(/[^@]*)?", re.ASCII)
_HOST = re.compile(r"[^:@]*(:[0-9]+)?(/.*)?", re.DOTALL)
_KEYED = ("s3", "s3a")
"""Where a name before ``@`` is a key."""
_SECRET = re.compile(r"key|secret|token|passw|sig|sas|cred|auth", re.IGNORECASE)
_HOPELESS = re.compile(
    r"ACCESS_DENIED|NO_SUCH_BUCKET|[Bb]ucket '[^']*' not found|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|NOT_FOUND|"
    r"ExpiredToken|EXPIRED_TOKEN|InvalidAccessKeyId|InvalidBucketName|OAuth2 access token|PERMISSION_DENIED|"
    r"UNAUTHENTICATED|HTTP status 40[0134]|[Cc]redentials"
)
_OF_A_PERSON = re.compile(r"ACCESS|SIGNATURE|TOKEN|AUTH|PERMISSION|[Cc]redentials|[Ff]orbidden|[Tt]oken|InvalidAccess")


def is_remote(place: object) -> bool:
    """Whether a place is an address and no folder of this machine.

    Examples
    --------
    >>> is_remote("s3://bucket/quickstart"), is_remote("results/quickstart")
    (True, False)
    """
    return isinstance(place, str) and _URL.match(place) is not None


def checked(url: str) -> str:
    """An address in which nothing can be a secret, so that it may be written and shown.

    Raises
    ------
    DatasetError
        It names a user, password or key, or an option that is not known to be none.

    Examples
    --------
    >>> checked("s3://bucket/quickstart/?endpoint_override=localhost:9000&scheme=http")
    's3://bucket/quickstart?endpoint_override=localhost:9000&scheme=http'
    >>> checked("s3://key:secret@bucket/quickstart")
    Traceback (most recent call last):
    ...
    simspec.model.errors.DatasetError: s3://…: an address holds no user, password or key; allowed: s3://bucket/name;
    credentials are taken from where the tools of the store look for them (environment, configuration files, role of the
    machine)
    """
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise DatasetError(f"{clean(url)[:60]}: is no address; allowed: e.g. s3://bucket/name")
    refuse_secrets(url)
    scheme, body, query = found[1].lower(), found[2].rstrip("/"), found[3] or ""
    if not body:
        raise DatasetError(f"{scheme}://: names no place; allowed: e.g. {scheme}://bucket/name")
    unknown = _keys(query) - OPTIONS
    if unknown:
        raise DatasetError(
            f"{scheme}://{clean(body)}: unknown option {clean(min(unknown))[:40]!r}; allowed: "
            f"{', '.join(sorted(OPTIONS))}"
        )
    return clean(f"{scheme}://{body}" + (f"?{query}" if query else ""))


def refuse_secrets(word: str) -> None:
    """Raise `DatasetError` if a word is an address that names a user, password or key; it is not shown.

    Examples
    --------
    >>> refuse_secrets("results/quickstart")
    """
    found = _URL.fullmatch(word.strip())
    if found is None:
        return
    scheme, body, query = found[1].lower(), found[2], found[3] or ""
    named = _ACCOUNT.fullmatch(body) and scheme.rpartition(":")[2] not in _KEYED
    telling = any(_SECRET.search(key) for key in _keys(query) - OPTIONS)
    if not (named or _HOST.fullmatch(body)) or "@" in query or telling:
        raise DatasetError(
            f"{scheme}://…: an address holds no user, password or key; allowed: {scheme}://bucket/name; credentials "
            "are taken from where the tools of the store look for them (environment, configuration files, role of the "
            "machine)"
        )


def _keys(query: str) -> set[str]:
    return {part.partition("=")[0] for part in query.split("&") if part}


def local(place: str | Path) -> Path:
    """A folder of this machine; raises `DatasetError` for an address, which would become a folder named ``s3:``."""
    if is_remote(place):
        raise DatasetError(f"{checked(str(place))}: is an address; allowed here: a folder of this machine")
    return Path(place)


def file_system(url: str) -> tuple[Any, str]:
    """Of pyarrow if it knows the scheme, else of fsspec; and the place in it.

    Raises
    ------
    DatasetError
        Neither knows it, or a package is missing.
    """
    import pyarrow as pa
    import pyarrow.fs as pafs  # starts threads of the AWS library: not for runs that need none

    scheme = url.partition("://")[0]
    usual = DEFAULTS.get(scheme, "")
    full = url if usual.partition("=")[0] in url or not usual else url + ("&" if "?" in url else "?") + usual
    try:
        own, root = pafs.FileSystem.from_uri(full)
    except pa.ArrowNotImplementedError:  # a pyarrow that was built without this store
        own, root = _of_fsspec(url, scheme)
    except pa.ArrowInvalid as error:
        if "Unrecognized" not in str(error):
            raise DatasetError(f"{url}: cannot be used ({line(error)})") from None
        own, root = _of_fsspec(url, scheme)
    return own, root.rstrip("/")


def _of_fsspec(url: str, scheme: str) -> tuple[Any, str]:
    import pyarrow.fs as pafs

    if "?" in url:
        raise DatasetError(f"{url}: options are for s3://, gs://, abfs:// and hdfs://; allowed for {scheme}://: none")
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise DatasetError(
            f"{url}: pyarrow knows no {scheme}://, and fsspec is not installed; allowed: s3://, gs://, abfs://, or pip "
            "install fsspec and the package of that store"
        ) from None
    try:
        own, root = url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise DatasetError(f"{url}: cannot be used ({line(error)}); allowed: s3://, gs://, abfs://, file://") from None
    return pafs.PyFileSystem(pafs.FSSpecHandler(own)), root


def is_hopeless(error: Exception) -> bool:
    """Whether to ask again is in vain: there is no such place, or it is not for this user."""
    return isinstance(error, PermissionError | FileNotFoundError) or _HOPELESS.search(_words(error)) is not None


def advice(error: Exception) -> str:
    """What a user may do about an error that will not go by itself."""
    if isinstance(error, PermissionError) or _OF_A_PERSON.search(_words(error)):
        return "; credentials are taken from where the tools of the store look for them"
    return ""


def is_of_a_store(error: Exception) -> bool:
    """Whether an error is one of a store or its library, and not of this program."""
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] not in ("builtins", "simspec")


def line(error: Exception) -> str:
    """An error as one short line without addresses that may hold secrets."""
    text = re.sub(r"\S+://\S+", "…", _words(error))
    text = re.sub(r"^When [^:]*: AWS Error (\w+) during (\w+) operation: ", r"\1 at \2: ", text)
    text = clean(re.sub(r" *\(Request ID: [^)]*\)", "", text)).strip()
    return text if len(text) <= 160 else text[:159] + "…"


def _words(error: Exception) -> str:
    return " ".join(f"{'' if isinstance(error, OSError) else type(error).__name__ + ': '}{error}".split())
