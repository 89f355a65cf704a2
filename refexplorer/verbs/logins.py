"""Which login the targets need: one file of each location is requested, first anonymously."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from refexplorer.checks.look.targets import Answer, ask
from refexplorer.core.errors import AccessError
from refexplorer.core.limits import Limits
from refexplorer.core.text import escape
from refexplorer.io.access import (
    AccessPolicy,
    Options,
    Place,
    StorageOptions,
    parse,
    without_credentials,
)
from refexplorer.io.fetch.background import wait_for
from refexplorer.io.fetch.targets import Targets

PLACES = 20  # Places that are asked; sets with more are rare, and each costs some requests
_TARGETS = 100_000  # Targets whose locations are looked up
_ICECHUNK = "icechunk.containers_credentials({{{folder!r}: icechunk.CREDENTIALS()}})"
_CODE = {
    ("s3", True): (
        'fsspec.filesystem("s3", anon=True)',
        "obstore.store.S3Store({bucket!r}, region={region!r}, skip_signature=True)",
        _ICECHUNK.replace("CREDENTIALS", "s3_anonymous_credentials"),
    ),
    ("s3", False): (
        'fsspec.filesystem("s3", anon=False)',
        "obstore.store.S3Store({bucket!r}, region={region!r})",
        _ICECHUNK.replace("CREDENTIALS", "s3_from_env_credentials"),
    ),
    ("gs", True): (
        'fsspec.filesystem("gs", token="anon")',
        "obstore.store.GCSStore({bucket!r}, skip_signature=True)",
        _ICECHUNK.replace("CREDENTIALS", "gcs_anonymous_credentials"),
    ),
    ("gs", False): (
        'fsspec.filesystem("gs", token="google_default")',
        "obstore.store.GCSStore({bucket!r})",
        _ICECHUNK.replace("CREDENTIALS", "gcs_from_env_credentials"),
    ),
    ("http", True): (
        'fsspec.filesystem("{protocol}")',
        "obstore.store.HTTPStore.from_url({grant!r})",
        "icechunk.VirtualChunkContainer({folder!r}, icechunk.http_store())",
    ),
}  # What fsspec, obstore and Icechunk need, by protocol, and whether it needs no credentials
_PAYING = {"fsspec": ", requester_pays=True)", "obstore": ", request_payer=True)"}


@dataclass(frozen=True, slots=True)
class Login:
    """The credentials that a location needs.

    Attributes
    ----------
    place
        A bucket or a host.
    answers
        ``"without credentials"``, ``"with the options given"``, ``"not"``, ``"not asked"``.
    region
        The region of an S3 bucket; None if unknown.
    requester_pays
        Whether the requester pays; None if unknown.
    message
        Why it does not respond.
    code
        Code for fsspec, obstore and Icechunk, by these names.
    """

    place: str
    answers: str
    region: str | None
    requester_pays: bool | None
    message: str
    code: dict[str, str]

    def __str__(self) -> str:
        facts = [f"region {self.region}"] if self.region else []
        if self.requester_pays is not None:
            facts.append(f"requester pays: {'yes' if self.requester_pays else 'no'}")
        answers = f"{'was' if self.answers == 'not asked' else 'answers'} {self.answers}"
        answers = "does not answer" if self.answers == "not" else answers
        head = f"{escape(self.place, 200)} {answers}{''.join(f', {fact}' for fact in facts)}"
        lines = [f"{head}{': ' if self.message else ''}{self.message}"]
        return "\n".join([*lines, *(f"  {name}: {line}" for name, line in self.code.items())])


def logins(
    urls: Iterable[str | None],
    location: str | None,
    allow: Collection[str],
    options: StorageOptions,
    limits: Limits,
) -> Iterator[Login]:
    """Yield what each location needs, tested with one file; only allowed ones are asked."""
    policy = AccessPolicy(location, allow)
    first: dict[str, tuple[str, Place]] = {}
    for _, url in zip(range(_TARGETS), urls, strict=False):
        if url is None or len(first) >= PLACES:
            continue
        try:
            place = parse(policy.resolve(url))
        except AccessError:
            continue
        if place.protocol not in ("file", "memory"):
            first.setdefault(place.grant, (url, place))
    for url, place in first.values():
        yield _login(url, place, policy, options, limits)


def _login(
    url: str, place: Place, policy: AccessPolicy, options: StorageOptions, limits: Limits
) -> Login:
    grant = place.grant
    _, given = Options(options, policy.location).of(place)
    public = without_credentials(place, given)

    def asked(chosen: dict[str, Any]) -> Answer:
        return wait_for(ask(Targets(policy, {place.protocol: chosen}, limits), url))

    answer = asked(public)
    if answer.forbidden:
        return Login(grant, "not asked", None, None, answer.cause or "", {})
    is_public, pays = answer.facts is not None, None
    if is_public:
        pays = False
    elif given != public:
        answer = asked(given)
        pays = False if answer.facts is not None else None
        if answer.facts is None and place.protocol == "s3":
            answer = asked({**given, "requester_pays": True})
            pays = True if answer.facts is not None else None
    region = _region(place, public) if place.protocol == "s3" else None
    answers = "not" if answer.facts is None else "with the options given"
    answers = "without credentials" if is_public else answers
    message = (answer.cause or "") if answer.facts is None else ""
    code = _code(place, is_public, region, pays)
    return Login(grant, answers, region, pays, message, code)


def _region(place: Place, options: dict[str, Any]) -> str | None:
    """Return the region of a bucket, which S3 reports even when denying access."""
    try:
        import s3fs

        found = s3fs.S3FileSystem(**options).call_s3("head_bucket", Bucket=place.authority)
    except Exception as error:  # s3fs raises what botocore makes of an answer
        found = getattr(error.__cause__, "response", None) or {}
    headers = found.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = headers.get("x-amz-bucket-region")
    return None if region is None else escape(str(region), 40)


def _code(place: Place, is_public: bool, region: str | None, pays: bool | None) -> dict[str, str]:
    """Return the lines of code, by package."""
    kind = "http" if place.protocol in ("http", "https") else place.protocol
    templates = _CODE.get((kind, is_public or kind == "http"), ())
    facts = {"bucket": place.authority, "region": region or "…", "protocol": place.protocol}
    facts |= {"grant": place.grant, "folder": f"{place.grant}/"}
    names = ("fsspec", "obstore", "icechunk")
    lines = {n: text.format(**facts) for n, text in zip(names, templates, strict=False)}
    for name, ending in _PAYING.items():
        if pays and name in lines:
            lines[name] = lines[name].removesuffix(")") + ending
    return lines
