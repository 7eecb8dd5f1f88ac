#!/usr/bin/env python3
"""Makes Debian's glewlwyd 2.7 ready to be a provider under test; needs requests from PyPI.

glewlwyd.py prepare DIRECTORY PORT    writes configuration, pages and database into DIRECTORY
glewlwyd.py furnish PORT REDIRECT     once it runs: a user, two clients, three OpenID plugins
glewlwyd.py register PORT REDIRECT NAME KEYS    then: a client that has the keys of a JWK set
glewlwyd.py visit URL                 signs the user in and allows all, without a browser

User: alice, alice-password. Clients: usher-public, and usher-secret with the secret s3cret-s3cret.
Issuers: http://127.0.0.1:PORT/api/oidc, …/api/oidcshort whose access tokens live 2 s, and
…/api/oidcnonce where a DPoP proof must contain the server's nonce.
"""
import gzip
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse

PACKAGED = pathlib.Path("/usr/share/glewlwyd")
SCHEMA = pathlib.Path("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz")
# Name, lifetime of access tokens in seconds, whether a DPoP proof must contain the server's nonce.
PLUGINS = [("oidc", 3600, False), ("oidcshort", 2, False), ("oidcnonce", 3600, True)]


def prepare(directory, port):
    place = pathlib.Path(directory)
    # The package's pages hold a link into /etc; ours need their own file.
    shutil.copytree(PACKAGED / "webapp", place / "pages",
                    ignore=shutil.ignore_patterns("config.json"))
    shutil.copy(PACKAGED / "templates/config.json", place / "pages/config.json")
    database = sqlite3.connect(place / "glewlwyd.db")
    database.executescript(gzip.decompress(SCHEMA.read_bytes()).decode())
    database.close()
    settings = {
        "port": port,
        "bind_address": '"127.0.0.1"',
        # A slash at the end would give endpoints that begin with //api.
        "external_url": f'"http://127.0.0.1:{port}"',
        "static_files_path": f'"{place}/pages/"',
        "log_mode": '"file"',
        "log_file": f'"{place}/glewlwyd.log"',
    }
    text = (PACKAGED / "templates/glewlwyd-debian.conf.properties").read_text()
    for name, value in settings.items():
        text, count = re.subn(rf"(?m)^#? *{name}=.*$", f"{name}={value}", text)
        if count != 1:
            sys.exit(f"glewlwyd's packaged configuration has {count} lines {name}")
    text = re.sub(r"(?m)^@include .*$",
                  f'database = {{ type = "sqlite3"; path = "{place}/glewlwyd.db"; }};', text)
    (place / "glewlwyd.conf").write_text(text)


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True,
                          check=True).stdout


def plugin(issuer, key, certificate, lifetime, must_have_nonce):
    return {
        "iss": issuer, "oauth-as-iss-id": True,
        "jwt-type": "rsa", "jwt-key-size": "256", "key": key, "cert": certificate,
        "jwks-show": True,
        "access-token-duration": lifetime, "refresh-token-duration": 1209600, "code-duration": 600,
        # A refresh token is good for one use; the second kills all that came from it.
        "refresh-token-rolling": True, "refresh-token-one-use": "always",
        "allow-non-oidc": True,
        "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True,
        "auth-type-token-enabled": False, "auth-type-password-enabled": False,
        "auth-type-client-enabled": True, "auth-type-refresh-enabled": True,
        "auth-type-device-enabled": True, "device-authorization-expiration": 600,
        "device-authorization-interval": 1,
        "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": True,
        "pkce-required-public-client": True,
        "oauth-par-allowed": True, "oauth-par-required": False, "oauth-par-duration": 90,
        "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
        "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60,
        "oauth-dpop-nonce-mandatory": must_have_nonce, "oauth-dpop-nonce-counter": 1,
        "client-jwks-parameter": "jwks",
        "introspection-revocation-allowed": True,
        "introspection-revocation-allow-target-client": True,
        "introspection-revocation-auth-scope": ["openid"],
        "session-management-allowed": False,
        "name-claim": "mandatory", "email-claim": "mandatory", "scope-claim": "no",
        "subject-type": "public", "request-parameter-allow": True,
        "request-uri-allow-https-non-secure": False,
    }


class Administrator:
    def __init__(self, port):
        import requests

        self.api, self.session = f"http://127.0.0.1:{port}/api", requests.Session()
        self.add("auth", {"username": "admin", "password": "password"})

    def add(self, kind, body):
        answer = self.session.post(f"{self.api}/{kind}/", json=body, timeout=120)
        if answer.status_code >= 300:
            sys.exit(f"{kind}: {answer.status_code} {answer.text[:400]}")

    def add_client(self, name, redirect, method, **more):
        self.add("client", {
            "client_id": name, "name": name, "enabled": True, "redirect_uri": [redirect],
            "scope": [], "confidential": method != "none", "token_endpoint_auth_method": [method],
            "authorization_type": ["code", "refresh_token", "device_authorization"], **more})


def furnish(port, redirect):
    administrator = Administrator(port)
    for name in ("profile", "email", "offline_access"):
        administrator.add("scope", {"name": name, "display_name": name, "password_required": True,
                                    "scheme": {}})
    administrator.add("user", {
        "username": "alice", "password": "alice-password", "name": "Alice Test",
        "email": "alice@example.test", "enabled": True,
        "scope": ["openid", "profile", "email", "offline_access"]})
    key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    certificate = openssl("pkey", "-pubout", text=key)
    for name, lifetime, must_have_nonce in PLUGINS:
        issuer = f"{administrator.api}/{name}"
        administrator.add("mod/plugin", {
            "module": "oidc", "name": name, "display_name": name, "enabled": True,
            "parameters": plugin(issuer, key, certificate, lifetime, must_have_nonce)})
    administrator.add_client("usher-public", redirect, "none")
    administrator.add_client("usher-secret", redirect, "client_secret_basic",
                             client_secret="s3cret-s3cret")


def register(port, redirect, name, keys):
    Administrator(port).add_client(name, redirect, "private_key_jwt", jwks=json.loads(keys))


def visit(url):
    """Sends what glewlwyd's page would send, for tests that are not about a browser."""
    import requests

    session = requests.Session()
    answer = session.get(url, allow_redirects=False, timeout=120)
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["Location"]).query))
    api = url.split("/api/")[0] + "/api"
    session.post(f"{api}/auth/", json={"username": "alice", "password": "alice-password"})
    client, scope = asked["client_id"], asked["scope"]
    session.put(f"{api}/auth/grant/{client}", json={"scope": scope}).raise_for_status()
    last = session.get(asked["callback_url"] + "&g_continue", timeout=120)
    title = re.search("<title>(.*?)</title>", last.text)
    print(json.dumps({"title": title[1] if title else "", "text": last.text,
                      "url": last.url.split("?")[0]}))


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    {"prepare": prepare, "furnish": furnish, "register": register, "visit": visit}[command](*rest)
