"""An OpenID provider whose every secret bears a mark, and which can be told to misbehave.

Prints its port. Whoever opens /authorize is signed in at once. /_secrets tells every secret that came
or went; /_next?token=HOW spoils the next answer of an endpoint (token, jwks, userinfo, revoke).
"""

import base64
import hashlib
import json
import random
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

MARK = sys.argv[1]
known = []
spoiled = {}
nonces = {}


def secret(kind):
    value = f"{kind}_{MARK}_{secrets.token_urlsafe(16)}"
    known.append(value)
    return value


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_prime(number):
    if any(number % small == 0 for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(8):
        power = pow(random.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime(bits):
    while True:
        number = random.getrandbits(bits) | (3 << (bits - 2)) | 1
        if number % 65537 != 1 and is_prime(number):
            return number


class Key:
    """RSA with PKCS #1 v1.5 and SHA-256 (RFC 8017 § 8.2), enough to sign an ID token."""

    def __init__(self):
        p, q = prime(1024), prime(1024)
        self.modulus = p * q
        self.exponent = pow(65537, -1, (p - 1) * (q - 1))

    def sign(self, data):
        prefix = bytes.fromhex("3031300d060960864801650304020105000420")
        digest = prefix + hashlib.sha256(data).digest()
        block = b"\0\1" + b"\xff" * (253 - len(digest)) + b"\0" + digest
        return pow(int.from_bytes(block, "big"), self.exponent, self.modulus).to_bytes(256, "big")

    def jwk(self):
        return {
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1",
            "n": base64url(self.modulus.to_bytes(256, "big")), "e": "AQAB",
        }

    def token(self, claims):
        header = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
        parts = [base64url(json.dumps(part).encode()) for part in (header, claims)]
        signed = ".".join(parts)
        token = f"{signed}.{base64url(self.sign(signed.encode()))}"
        known.extend([token, token.rsplit(".", 1)[1]])
        return token


key = Key()


class Provider(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/_secrets":
            return self.reply(known)
        if parts.path == "/_next":
            spoiled.update(query)
            return self.reply(query)
        if parts.path == "/authorize":
            return self.authorize(query)
        if parts.path == "/jwks":
            return self.answer("jwks", {"keys": [key.jwk()]})
        if parts.path == "/userinfo":
            self.note_authorization()
            return self.answer("userinfo", {"sub": "u-1", "name": "Ada", "note": secret("ui")})
        if parts.path == "/.well-known/openid-configuration":
            names = {
                "authorization_endpoint": "authorize", "token_endpoint": "token",
                "jwks_uri": "jwks", "userinfo_endpoint": "userinfo",
                "revocation_endpoint": "revoke",
            }
            document = {name: f"{self.issuer}/{path}" for name, path in names.items()}
            return self.reply(document | {
                "issuer": self.issuer, "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "authorization_response_iss_parameter_supported": True,
            })
        return self.reply({"error": "not_found"}, 404)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = {
            name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()
        }
        self.note_authorization()
        known.extend(form[name] for name in ("code_verifier", "client_secret") if name in form)
        if urlsplit(self.path).path == "/revoke":
            return self.answer("revoke", {})
        subject = {"sub": "u-1", "aud": "usher", "iss": self.issuer, "nonce": "none"}
        if form.get("grant_type") == "authorization_code":
            subject["nonce"] = nonces.pop(form["code"], "none")
        now = int(time.time())
        claims = subject | {"iat": now, "exp": now + 300, "mark": secret("claim")}
        if spoiled.get("token") == "echo":
            spoiled.pop("token")
            return self.reply({"error": "invalid_request", "error_description": self.echo(form)}, 400)
        return self.answer("token", {
            "access_token": secret("at"), "refresh_token": secret("rt"), "token_type": "Bearer",
            "expires_in": 300, "scope": "openid offline_access", "id_token": key.token(claims),
        })

    def echo(self, form):
        """What a careless provider says of a request it does not like."""
        sent = [form[name] for name in ("code", "code_verifier", "refresh_token") if name in form]
        words = self.headers.get("Authorization", "").split()[1:]
        pairs = [unquote_plus(base64.b64decode(word).decode()) for word in words]
        return f"this is wrong: {' '.join(sent + words + pairs)}"

    def note_authorization(self):
        words = self.headers.get("Authorization", "").split()
        if len(words) == 2:
            known.append(words[1])

    def authorize(self, query):
        code = secret("ac")
        nonces[code] = query["nonce"]
        answer = {"code": code, "state": query["state"], "iss": self.issuer}
        self.send_response(303)
        self.send_header("Location", f"{query['redirect_uri']}?{urlencode(answer)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, endpoint, members):
        """The right answer, unless it is to be spoiled."""
        how = spoiled.pop(endpoint, None)
        if how is None:
            return self.reply(members)
        if how in ("400", "401", "403", "500"):
            word = {"400": "invalid_grant", "401": "invalid_client"}.get(how, "server_error")
            return self.reply(members | {"error": word}, int(how))
        if how == "redirect":
            self.send_response(302)
            self.send_header("Location", f"{self.issuer}/{secret('elsewhere')}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if how == "signature":
            head, _ = members["id_token"].rsplit(".", 1)
            return self.reply(members | {"id_token": f"{head}.{base64url(bytes(256))}"})
        if how == "claims":
            claims = {"iss": "x", "sub": "u-2", "aud": "x", "exp": 1, "iat": 1, "m": secret("claim")}
            return self.reply(members | {"id_token": key.token(claims)})
        if how == "types":
            return self.reply({name: [value] for name, value in members.items()})
        if how == "type":
            return self.reply(members, kind="text/html")
        if how == "token_type":
            return self.reply(members | {"token_type": secret("tt")})
        body = json.dumps(members)
        if how == "broken":
            return self.send(body[:-1].encode() + b",")
        if how == "half":
            return self.send(body.encode(), announced=2 * len(body))
        raise ValueError(how)

    def reply(self, value, status=200, kind="application/json"):
        self.send(json.dumps(value).encode(), status, kind)

    def send(self, body, status=200, kind="application/json", announced=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(announced or len(body)))
        self.end_headers()
        self.wfile.write(body)
        if announced:
            self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
print(f"port {server.server_port}", flush=True)
server.serve_forever()
