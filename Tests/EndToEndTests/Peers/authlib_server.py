#!/usr/bin/env python3
"""An authorization server of Authlib, as its documentation builds one; needs authlib and flask.

authlib_server.py DIRECTORY PORT REDIRECT

Issuer: http://127.0.0.1:PORT/auth, with metadata at the address of RFC 8414 only. Everybody is the
user alice, and allows everything. Clients: usher-jwt, and usher-jar, which must sign its
authorization requests; their public keys (RFC 7517) are in the file keys.json of DIRECTORY.
"""
import json
import os
import pathlib
import sys
import time
from types import SimpleNamespace

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2 import OAuth2Error, rfc6749, rfc6750, rfc7009, rfc7523, rfc7636, rfc9101, rfc9207
from authlib.oidc import core
from flask import Flask, jsonify, request
from joserfc.jwk import ECKey, KeySet

SCOPES = "openid profile reports"
METHOD = "private_key_jwt"


class Client(rfc6749.ClientMixin):
    def __init__(self, name, redirect, keys):
        self.name, self.redirect, self.keys = name, redirect, keys

    def key_set(self):
        return KeySet.import_key_set(json.loads(self.keys.read_text()))

    def get_client_id(self):
        return self.name

    def get_allowed_scope(self, scope):
        return " ".join(word for word in (scope or "").split() if word in SCOPES.split())

    def check_redirect_uri(self, uri):
        return uri == self.redirect

    def check_endpoint_auth_method(self, method, endpoint):
        return method == METHOD

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return True


class Code(SimpleNamespace):
    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return int(time.time())

    def get_acr(self):
        return None

    get_amr = get_acr


class Token(SimpleNamespace):
    is_gone = False

    def check_client(self, client):
        return self.client == client.name

    def get_scope(self):
        return self.scope

    def get_client(self):
        return self.client

    def is_expired(self):
        return False

    def is_revoked(self):
        return self.is_gone


def main(directory, port, redirect):
    # Authlib demands https otherwise.
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    issuer = f"http://127.0.0.1:{port}/auth"
    clients = {name: Client(name, redirect, pathlib.Path(directory) / "keys.json") for name in ("usher-jwt", "usher-jar")}
    codes, tokens, seen = {}, [], set()
    signing_key = ECKey.generate_key("P-256", {"kid": "key-1", "alg": "ES256", "use": "sig"})
    metadata = {
        "issuer": issuer, "jwks_uri": f"{issuer}/jwks",
        **{f"{name}_endpoint": f"{issuer}/{name}"
           for name in ("authorization", "token", "userinfo", "revocation")},
        "response_types_supported": ["code"], "scopes_supported": SCOPES.split(),
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "token_endpoint_auth_methods_supported": [METHOD],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        "revocation_endpoint_auth_methods_supported": [METHOD],
        "code_challenge_methods_supported": ["S256"],
        "id_token_signing_alg_values_supported": ["ES256"], "subject_types_supported": ["public"],
        "request_parameter_supported": True,
        "request_object_signing_alg_values_supported": ["ES256"],
        "authorization_response_iss_parameter_supported": True,
    }

    def save(token, asked):
        tokens.append(Token(client=asked.client.name, **token))

    app = Flask("authlib")
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
    server = AuthorizationServer(app, clients.get, save)

    def living(value, kinds=("access_token", "refresh_token")):
        return next((token for token in tokens if not token.is_gone
                     and value in [getattr(token, kind, None) for kind in kinds]), None)

    class Assertion(rfc7523.JWTBearerClientAssertion):
        CLIENT_AUTH_METHOD = METHOD

        def get_audiences(self):
            return [issuer]

        def resolve_client_public_key(self, client):
            return client.key_set()

        def validate_jti(self, claims, jti):
            return jti not in seen and not seen.add(jti)

    class CodeGrant(rfc6749.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = [METHOD]

        def save_authorization_code(self, code, asked):
            given = asked.payload.data
            codes[code] = Code(
                value=code, client=asked.client.name, scope=asked.scope,
                redirect_uri=given["redirect_uri"], nonce=given.get("nonce"),
                code_challenge=given["code_challenge"],
                code_challenge_method=given["code_challenge_method"])

        def query_authorization_code(self, code, client):
            found = codes.get(code)
            return found if found and found.client == client.name else None

        def delete_authorization_code(self, code):
            del codes[code.value]

        def authenticate_user(self, code):
            return "alice"

    class RefreshGrant(rfc6749.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = [METHOD]
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, value):
            return living(value, ["refresh_token"])

        def authenticate_user(self, token):
            return "alice"

        def revoke_old_credential(self, token):
            token.is_gone = True

    class ClientGrant(rfc6749.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = [METHOD]

    class OpenID(core.OpenIDCode):
        def exists_nonce(self, nonce, asked):
            return any(code.nonce == nonce for code in codes.values())

        def get_client_algorithm(self, client):
            return "ES256"

        def get_client_claims(self, client):
            return {"iss": issuer, "aud": [client.name]}

        def resolve_client_private_key(self, client):
            return signing_key

        def generate_user_info(self, user, scope):
            return core.UserInfo(sub=user, name="Alice Test")

    class Revocation(rfc7009.RevocationEndpoint):
        CLIENT_AUTH_METHODS = [METHOD]

        def query_token(self, value, hint):
            return living(value)

        def revoke_token(self, token, asked):
            token.is_gone = True

    class SignedRequests(rfc9101.JWTAuthenticationRequest):
        def resolve_client_public_key(self, client):
            return client.key_set()

        def get_server_metadata(self):
            return metadata

        def get_client_require_signed_request_object(self, client):
            return client.name == "usher-jar"

    class Issuer(rfc9207.IssuerParameter):
        def get_issuer(self):
            return issuer

    class Bearer(rfc6750.BearerTokenValidator):
        def authenticate_token(self, value):
            return living(value, ["access_token"])

    server.register_client_auth_method(METHOD, Assertion())
    server.register_grant(CodeGrant, [rfc7636.CodeChallenge(), OpenID(require_nonce=True)])
    server.register_grant(RefreshGrant)
    server.register_grant(ClientGrant)
    server.register_endpoint(Revocation)
    server.register_extension(SignedRequests(support_request_uri=False))
    server.register_extension(Issuer())
    protect = ResourceProtector()
    protect.register_token_validator(Bearer())

    app.get("/.well-known/oauth-authorization-server/auth", endpoint="md")(lambda: metadata)
    app.get("/auth/jwks", endpoint="jwks")(lambda: KeySet([signing_key]).as_dict(private=False))
    app.post("/auth/token", endpoint="token")(server.create_token_response)
    app.post("/auth/revocation", endpoint="revoke")(
        lambda: server.create_endpoint_response("revocation"))

    @app.get("/auth/authorization")
    def authorize():
        try:
            grant = server.get_consent_grant(end_user="alice")
        except OAuth2Error as error:
            return jsonify(error.get_body()), error.status_code
        return server.create_authorization_response(request, grant_user="alice", grant=grant)

    @app.get("/auth/userinfo")
    @protect("openid")
    def userinfo():
        return {"sub": "alice", "name": "Alice Test"}

    app.run("127.0.0.1", int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
