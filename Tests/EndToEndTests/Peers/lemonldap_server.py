#!/usr/bin/env python3
"""Debian's lemonldap-ng 2.16 as an OpenID provider under test.

lemonldap_server.py DIRECTORY PORT REDIRECT    serves the portal; its files are in DIRECTORY

Issuer: http://127.0.0.1:PORT/. User: dwho, dwho, of its demonstration. Clients: usher-public, and
usher-secret with the secret s3cret-s3cret.
"""
import json
import os
import pathlib
import subprocess
import sys

PACKAGED = "/usr/share/lemonldap-ng/portal"
# One process, which answers one request after the other: it suffices for a person without a browser.
SERVE = f"""
use Lemonldap::NG::Portal::Main;
enable "Static", path => sub {{ s!^/static/!! }}, root => "{PACKAGED}/htdocs/static";
Lemonldap::NG::Portal::Main->run({{}});
"""


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True,
                          check=True).stdout


def sessions(place):
    (place / "lock").mkdir(parents=True)
    return {"Directory": str(place), "LockDirectory": str(place / "lock"),
            "generateModule": "Lemonldap::NG::Common::Apache::Session::Generate::SHA256"}


def client(redirect, **more):
    options = {"IDTokenSignAlg": "RS256", "RequirePKCE": 1, "RefreshToken": 1,
               "AccessTokenExpiration": 3600, "RedirectUris": redirect,
               "PostLogoutRedirectUris": redirect, **more}
    return {f"oidcRPMetaDataOptions{name}": value for name, value in options.items()}


def configuration(place, port, redirect):
    key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    clients = {
        "public": client(redirect, ClientID="usher-public", Public=1),
        "secret": client(redirect, ClientID="usher-secret", ClientSecret="s3cret-s3cret"),
    }
    claims = {"name": "cn", "email": "mail", "preferred_username": "uid"}
    return {
        "cfgNum": 1, "cfgDate": "1", "cfgAuthor": "tests", "cfgVersion": "2.16.1",
        "domain": "127.0.0.1", "portal": f"http://127.0.0.1:{port}/", "securedCookie": 0,
        "key": os.urandom(16).hex(), "portalSkin": "bootstrap",
        "authentication": "Demo", "userDB": "Same", "registerDB": "Null", "passwordDB": "Demo",
        "demoExportedVars": {name: name for name in ("cn", "mail", "uid")}, "whatToTrace": "uid",
        # The packaged module for pictures needs ImageMagick, and is loaded although none is shown.
        "captcha": "::Plugins::AutoSignin",
        "globalStorage": "Apache::Session::File",
        "globalStorageOptions": sessions(place / "sessions"),
        "persistentStorage": "Apache::Session::File",
        "persistentStorageOptions": sessions(place / "psessions"),
        "locationRules": {}, "exportedHeaders": {}, "macros": {}, "groups": {},
        "issuerDBOpenIDConnectActivation": 1, "oidcServiceAllowAuthorizationCodeFlow": 1,
        "oidcServiceKeyIdSig": "key-1", "oidcServicePrivateKeySig": key,
        "oidcServicePublicKeySig": openssl("pkey", "-pubout", text=key),
        "oidcRPMetaDataOptions": clients,
        "oidcRPMetaDataExportedVars": {name: claims for name in clients},
        "oidcRPMetaDataOptionsExtraClaims": {name: {} for name in clients},
    }


def main(directory, port, redirect):
    place = pathlib.Path(directory)
    (place / "conf").mkdir()
    (place / "conf/lmConf-1.json").write_text(json.dumps(configuration(place, port, redirect)))
    cache = (f"{{ 'namespace' => 'config', 'cache_root' => '{place}/cache', "
             "'default_expires_in' => 600, 'cache_depth' => 3 }")
    (place / "lemonldap-ng.ini").write_text(f"""
[all]
logLevel = notice
checkTime = 600
localSessionStorage = Cache::FileCache
localSessionStorageOptions = {cache}
[configuration]
type = File
dirName = {place}/conf
localStorage = Cache::FileCache
localStorageOptions = {cache}
[portal]
staticPrefix = /static
templateDir = {PACKAGED}/templates
languages = en
""")
    os.environ["LLNG_DEFAULTCONFFILE"] = f"{place}/lemonldap-ng.ini"
    os.environ["LLNG_DEFAULTLOGGER"] = "Lemonldap::NG::Common::Logger::Std"
    os.execvp("plackup", ["plackup", "-s", "HTTP::Server::PSGI", "-E", "deployment",
                          "--host", "127.0.0.1", "--port", port, "-e", SERVE])


if __name__ == "__main__":
    main(*sys.argv[1:])
