"""One registry over HTTP: every request with its credentials, redirects and deadline, and every failure as one line.

Sources: distribution-spec (pulling, errors); distribution/distribution docs/spec/auth/token.md and oauth.md; RFC 6750.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urljoin, urlsplit

import msgspec
import requests
from requests import Response

from .credentials import Credentials
from .deadline import Deadline, adapter
from .source import ImageError, TooSlow

_MAX_REDIRECTS = 5
_MAX_ANSWER = 1 << 20
_PIECE = 1 << 18
_SLOWEST = 16 << 10
"""Bytes per second: a layer that arrives more slowly for the whole timeout is given up."""
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")
_CHALLENGE = re.compile(r'([a-z_]+)=(?:"([^"]{0,4096})"|([^\s,"]{1,4096}))')


@dataclass(frozen=True)
class Access:
    """How registries are reached. `ca`: a file with certificates; `timeout_s`: for each answer, to its last byte."""

    plain_http: bool = False
    ca: str = ""
    timeout_s: float = 30.0


@dataclass
class Registry:
    host: str
    scope: str
    credentials: Credentials | None = None
    access: Access = Access()
    _authorization: str = field(default="", repr=False)
    _session: requests.Session | None = field(default=None, repr=False)
    _deadline: Deadline = field(default_factory=Deadline, repr=False)

    def __post_init__(self) -> None:
        loopback = _LOOPBACK.fullmatch(self.host.rpartition(":")[0] or self.host) or _LOOPBACK.fullmatch(self.host)
        self._loopback = bool(loopback)
        plain = self.access.plain_http or (self._loopback and not self.access.ca)
        self.base = f"{'http' if plain else 'https'}://{self.host}/v2/"

    def get(self, path: str, headers: Mapping[str, str], limit: int) -> tuple[bytes, Response]:
        """The whole answer. Raises ImageError if it fails or has over `limit` bytes."""
        response = self.open(path, headers)
        try:
            return self._whole(response, limit, self.host), response
        finally:
            self._deadline.stop()

    def open(self, path: str, headers: Mapping[str, str]) -> Response:
        """The answer with its body still unread; asked again once with the credentials that the registry requires.

        The deadline keeps running: `pieces` extends it while enough of the body arrives.
        """
        self._deadline.start(self.access.timeout_s)
        try:
            return self._open(path, headers)
        except BaseException:
            self._deadline.stop()
            raise

    def pieces(self, response: Response, skip: int) -> Iterator[bytes]:
        """The body as sent, without its first `skip` bytes. Raises ImageError if the connection breaks, or if the body
        arrives unreasonably slowly for the whole timeout."""
        came, seconds = 0, self.access.timeout_s
        self._deadline.start(seconds)
        try:
            for piece in _pieces(response, self.host):
                came += len(piece)
                if came > _SLOWEST * seconds:
                    came = 0
                    self._deadline.start(seconds)
                kept, skip = piece[skip:], max(0, skip - len(piece))
                if kept:
                    self._deadline.held = True
                    yield kept
                    self._deadline.held = False
        except ImageError:
            if not self._deadline.over:
                raise
        finally:
            self._deadline.held = False
            self._deadline.stop()
        if self._deadline.over:
            raise self._late(self.host)

    def _late(self, where: str) -> TooSlow:
        return TooSlow(f"{where} did not finish responding within {self.access.timeout_s:g} s", unknown=True)

    def _open(self, path: str, headers: Mapping[str, str]) -> Response:
        response = self._send(path, headers)
        ours = _origin(response.url) == _origin(self.base)  # no other host may ask for this one's login
        if response.status_code == 401 and ours:  # no login yet, or an expired token
            challenge = response.headers.get("WWW-Authenticate", "")
            response.close()
            self._authorization = self._answer_to(challenge)
            response = self._send(path, headers)
        if response.status_code not in (200, 206):
            raise self._failure(response)
        return response

    def _send(self, path: str, headers: Mapping[str, str]) -> Response:
        """Redirects are followed manually: credentials are sent to no other host, and never in plain text."""
        url = urljoin(self.base, path)
        home = _origin(url)
        for _ in range(_MAX_REDIRECTS + 1):
            proof = {"Authorization": self._authorization} if self._authorization and _origin(url) == home else {}
            response = self._request(url, {**headers, **proof})
            if response.status_code not in (301, 302, 303, 307, 308):
                return response
            target = urljoin(url, response.headers.get("Location", ""))
            response.close()
            if urlsplit(target).scheme not in ("https", urlsplit(self.base).scheme):
                raise ImageError(f"{self.host} redirects to a URL that is not HTTPS, so the redirect was not followed")
            url = target
        raise ImageError(f"{self.host} redirects more than {_MAX_REDIRECTS} times, so gpudoctor stopped following")

    def _request(self, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None) -> Response:
        if self._session is None:
            self._session = requests.Session()
            self._session.trust_env = not self._loopback  # a proxy would ask its own loopback
            for scheme in ("https://", "http://"):
                self._session.mount(scheme, adapter(self._deadline))
            self._session.auth = _as_given  # else requests takes passwords out of ~/.netrc
        about = {"Accept-Encoding": "identity", "User-Agent": "gpudoctor", **headers}
        where = urlsplit(url).netloc.rpartition("@")[2]
        try:
            response = self._session.request(
                "POST" if form else "GET",
                url,
                headers=about,
                data=form,
                stream=True,
                allow_redirects=False,
                timeout=(min(10.0, self.access.timeout_s), self.access.timeout_s),
                verify=self.access.ca or _own_ca(self.host) or True,
            )
        except Exception as error:
            if self._deadline.over:
                raise self._late(where) from None
            raise self._failed(error, where, bool(headers.get("Authorization"))) from None
        if self._deadline.over:  # cut off within its headers
            response.close()
            raise self._late(where)
        return response

    def _failed(self, error: Exception, where: str, secret: bool) -> Exception:
        """As one line, if it is a network error."""
        if isinstance(error, requests.exceptions.SSLError):
            return ImageError(_tls(where, error), unknown=True)
        if isinstance(error, requests.exceptions.Timeout):
            return ImageError(f"{where} did not respond within {self.access.timeout_s:g} s", unknown=True)
        if isinstance(error, requests.exceptions.ProxyError):
            return ImageError(f"the proxy used to reach {where} refused this request", unknown=True)
        if isinstance(error, requests.exceptions.ConnectionError):
            why = _why(error)
            if self.base.startswith("http://") and why in _CUT:  # as TLS servers answer plain text
                why += f"; {_OF_TLS}"
            return ImageError(f"cannot reach {where}: {why}", unknown=True)
        if isinstance(error, (OSError, ValueError)):
            line = str(error).splitlines()[0] if str(error) and not secret else "invalid address"
            return ImageError(f"cannot send a request to {where}: {line[:200]}", unknown=True)
        return error

    def _answer_to(self, challenge: str) -> str:
        """The Authorization that a challenge asks for. Raises ImageError if there is none."""
        kind, _, rest = challenge.partition(" ")
        named = {name: quoted or plain for name, quoted, plain in _CHALLENGE.findall(rest)}
        if kind.lower() == "basic":
            if self.credentials is None or not self.credentials.user:
                raise ImageError(f"{self.host} requires a login: docker login {self.host}")
            return _basic(self.credentials)
        if kind.lower() != "bearer" or not named.get("realm"):
            raise ImageError(f"{self.host} requires an unsupported authentication scheme ({kind[:20] or 'not named'})")
        return f"Bearer {self._token(named)}"

    def _token(self, named: Mapping[str, str]) -> str:
        realm = named["realm"]
        secure = urlsplit(realm).scheme == "https"
        if not secure and not (urlsplit(realm).scheme == "http" and self.base.startswith("http://")):
            raise ImageError(f"{self.host} wants its login sent without encryption, so nothing was sent")
        scope = {"service": named.get("service", ""), "scope": named.get("scope") or self.scope}
        credentials = self.credentials
        headers = {"Authorization": _basic(credentials)} if credentials and credentials.user else {}
        if credentials and credentials.identity_token:
            form = {"grant_type": "refresh_token", "refresh_token": credentials.identity_token, **scope}
            response = self._request(realm, {}, {"client_id": "gpudoctor", **form})
        else:
            query = "&".join(f"{k}={quote(v, safe='')}" for k, v in scope.items() if v)
            response = self._request(f"{realm}{'&' if '?' in realm else '?'}{query}", headers)
        host = urlsplit(realm).hostname or ""
        if response.status_code != 200:
            raise self._failure(response, f"{host} (login for {self.host})")
        body = self._whole(response, _MAX_ANSWER, host)
        try:
            answer = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            answer = None
        token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,65536}", token):
            raise ImageError(f"{host} returned no token for {self.host}", unknown=True)
        return token

    def _whole(self, response: Response, limit: int, who: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced) > limit:
            response.close()
            raise ImageError(f"{who} sent {int(announced)} bytes, but at most {limit >> 20} MiB are accepted")
        try:
            for piece in _pieces(response, who):
                parts.append(piece)
                size += len(piece)
                if size > limit:
                    raise ImageError(f"{who} sent more than {limit >> 20} MiB, which is the most that is accepted")
        except ImageError:
            if not self._deadline.over:
                raise
        if self._deadline.over:
            raise self._late(who)
        if announced.isdecimal() and size < int(announced):
            raise ImageError(f"{who} sent {size} of {announced} bytes", unknown=True)
        return b"".join(parts)

    def _failure(self, response: Response, who: str = "") -> ImageError:
        who, code = who or self.host, response.status_code
        response.close()
        if code == 429:
            wait = response.headers.get("Retry-After", "")
            later = f" in {wait} s" if wait.isascii() and wait.isdecimal() else " later"
            return ImageError(f"{who} is rate limiting requests: log in, or try again{later}", True)
        if code in (401, 403):
            how_known = "with these credentials" if self.credentials else f"without a login (docker login {self.host})"
            return ImageError(f"{who} denies access to this image {how_known}, or the image does not exist")
        if code == 404:
            return ImageError(f"{who} has no such image")
        if code in (400, 426) and self.base.startswith("http://"):
            return ImageError(f"{who} responded to plain HTTP with {code}: {_OF_TLS}", unknown=True)
        return ImageError(f"{who} responded with {code} {_reason(response)}".rstrip(), unknown=True)


def _pieces(response: Response, name: str) -> Iterator[bytes]:
    """The body as sent. Raises ImageError if the connection breaks."""
    try:
        # read1 returns what has arrived; urllib3 1 has none
        read = getattr(response.raw, "read1", response.raw.read)
        while piece := read(_PIECE, decode_content=False):
            yield piece
    except Exception as error:  # urllib3's own errors, and those of sockets and TLS
        raise ImageError(f"the connection to {name} was lost: {_why(error)}", unknown=True) from None
    finally:
        response.close()


def _as_given(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _basic(credentials: Credentials) -> str:
    from requests.auth import _basic_auth_str

    return _basic_auth_str(credentials.user.encode(), credentials.password.encode())


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _own_ca(host: str) -> str:
    """The certificates configured in docker for this registry."""
    from pathlib import Path

    path = Path("/etc/docker/certs.d") / host / "ca.crt"
    return str(path) if path.is_file() else ""


def _tls(where: str, error: Exception) -> str:
    words = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in words:
        return f"the certificate of {where} is not signed by a trusted CA; pass its CA with --ca FILE"
    return f"{where} does not use TLS; if that is expected, use --plain-http"


_CUT = ("connection reset", "connection closed")
_OF_TLS = "if the registry uses TLS, pass its CA with --ca FILE"


def _why(error: Exception) -> str:
    words = str(error)
    for sign, meaning in (
        ("Name or service not known", "no such host, or no network"), ("Temporary failure in name", "no network"),
        ("No address associated", "no such host"), ("refused", "connection refused"),
        ("unreachable", "no network"), ("timed out", "no response in time"), ("reset by peer", "connection reset"),
        ("IncompleteRead", "the response ended early"), ("Remote end closed", "connection closed"),
    ):  # fmt: skip
        if sign in words:
            return meaning
    return type(error).__name__


def _reason(response: Response) -> str:
    return re.sub(r"[^\x20-\x7e]", "", response.reason or "")[:60]
