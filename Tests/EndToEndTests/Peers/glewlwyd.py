#!/usr/bin/env python3
"""Makes Debian's glewlwyd 2.7 ready to be a provider under test; needs requests from PyPI.

glewlwyd.py prepare DIRECTORY PORT    writes configuration, pages and database into DIRECTORY
glewlwyd.py furnish PORT REDIRECT     once it runs: a user, two clients, two OpenID plugins

User: alice, alice-password. Clients: usher-public, and usher-secret with the secret s3cret-s3cret.
Issuers: http://127.0.0.1:PORT/api/oidc, and …/api/oidcshort whose access tokens live 2 s.
"""
import gzip
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

PACKAGED = pathlib.Path("/usr/share/glewlwyd")
SCHEMA = pathlib.Path("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz")


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


def plugin(issuer, key, certificate, lifetime):
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
        "introspection-revocation-allowed": True,
        "introspection-revocation-allow-target-client": True,
        "introspection-revocation-auth-scope": ["openid"],
        "session-management-allowed": False,
        "name-claim": "mandatory", "email-claim": "mandatory", "scope-claim": "no",
        "subject-type": "public", "request-parameter-allow": True,
        "request-uri-allow-https-non-secure": False,
    }


def furnish(port, redirect):
    import requests

    api = f"http://127.0.0.1:{port}/api"
    session = requests.Session()

    def post(path, body):
        answer = session.post(api + path, json=body, timeout=120)
        if answer.status_code >= 300:
            sys.exit(f"{path}: {answer.status_code} {answer.text[:400]}")

    post("/auth/", {"username": "admin", "password": "password"})
    for name in ("profile", "email", "offline_access"):
        post("/scope/", {"name": name, "display_name": name, "password_required": True,
                         "scheme": {}})
    post("/user/", {"username": "alice", "password": "alice-password", "name": "Alice Test",
                    "email": "alice@example.test", "enabled": True,
                    "scope": ["openid", "profile", "email", "offline_access"]})
    key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    certificate = openssl("pkey", "-pubout", text=key)
    for name, lifetime in (("oidc", 3600), ("oidcshort", 2)):
        post("/mod/plugin/", {"module": "oidc", "name": name, "display_name": name,
                              "enabled": True,
                              "parameters": plugin(f"{api}/{name}", key, certificate, lifetime)})
    client = {"enabled": True, "redirect_uri": [redirect], "scope": [],
              "authorization_type": ["code", "refresh_token", "device_authorization"]}
    post("/client/", {**client, "client_id": "usher-public", "name": "usher (public)",
                      "confidential": False, "token_endpoint_auth_method": ["none"]})
    post("/client/", {**client, "client_id": "usher-secret", "name": "usher (confidential)",
                      "confidential": True, "client_secret": "s3cret-s3cret",
                      "token_endpoint_auth_method": ["client_secret_basic"]})


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    {"prepare": prepare, "furnish": furnish}[command](*rest)
