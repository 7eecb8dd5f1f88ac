#!/usr/bin/env python3
"""An OpenID provider of idpyoidc, as its documentation builds one; needs flask and idpyoidc.

idpyoidc_server.py DIRECTORY PORT REDIRECT

Issuer: http://127.0.0.1:PORT. User: alice, alice-password. Client: usher-jwt, whose public keys
(RFC 7517) are in the file keys.json of DIRECTORY.
"""
import html
import json
import pathlib
import sys

from flask import Flask, Response, redirect, request
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import FailedAuthentication
from idpyoidc.server.user_authn.user import UserPass, create_signed_jwt

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"
SCOPES = ["openid", "profile", "email", "offline_access"]
TOKENS = ["access_token", "refresh_token", "id_token"]


class LoginPage(UserPass):
    def __call__(self, **kwargs):
        token = create_signed_jwt(self.upstream_get("context").issuer,
                                  self.upstream_get("attribute", "keyjar"), **kwargs)
        return ("<title>Log in</title><form method=post action=/login>"
                f'<input type=hidden name=token value="{html.escape(token)}">'
                "<input name=username><input type=password name=password><button>Log in</button>")


def endpoint(kind, path, methods=None):
    return {"class": f"idpyoidc.server.{kind}", "path": path,
            "kwargs": {"client_authn_method": methods, "new_refresh_token": True}}


def configuration(issuer):
    mine = ["private_key_jwt"]
    secret_keys = [{"type": "OCT", "use": ["enc"], "kid": "enc"},
                   {"type": "OCT", "use": ["sig"], "kid": "sig"}]
    return {
        "issuer": issuer,
        "keys": {"uri_path": "jwks", "key_defs": [{"type": "EC", "crv": "P-256", "use": ["sig"]},
                                                  {"type": "RSA", "use": ["sig"]}]},
        "endpoint": {
            "provider_config": endpoint("oidc.provider_config.ProviderConfiguration",
                                        ".well-known/openid-configuration"),
            "authorization": endpoint("oidc.authorization.Authorization", "authorization"),
            "token": endpoint("oidc.token.Token", "token", mine),
            "userinfo": endpoint("oidc.userinfo.UserInfo", "userinfo", ["bearer_header"]),
            "token_revocation": endpoint("oauth2.token_revocation.TokenRevocation", "revocation",
                                         mine),
        },
        "add_on": {"pkce": {"function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                            "kwargs": {"essential": True, "code_challenge_method": "S256"}}},
        "authentication": {"user": {"acr": PASSWORD, "class": LoginPage, "kwargs": {
            "db_conf": {"class": dict, "kwargs": {"alice": "alice-password"}}}}},
        "authz": {"class": "idpyoidc.server.authz.AuthzHandling", "kwargs": {"grant_config": {
            "expires_in": 43200,
            "usage_rules": {
                "authorization_code": {"supports_minting": TOKENS, "max_usage": 1},
                "access_token": {"supports_minting": ["access_token"], "expires_in": 600},
                "refresh_token": {"supports_minting": TOKENS, "expires_in": 43200}}}}},
        "claims_interface": {"class": "idpyoidc.server.session.claims.ClaimsInterface",
                             "kwargs": {}},
        "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": {"alice": {
            "name": "Alice Test", "email": "alice@example.test"}}}},
        "preference": {"subject_types_supported": ["public"], "scopes_supported": SCOPES,
                       "id_token_signed_response_alg": "ES256",
                       "grant_types_supported": ["authorization_code", "refresh_token", EXCHANGE]},
        "token_handler_args": {
            "key_conf": {"key_defs": secret_keys},
            "code": {"lifetime": 600, "kwargs": {"crypt_conf": {"kwargs": {"keys": {
                "key_defs": secret_keys}}}}},
            "token": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "lifetime": 600,
                      "kwargs": {"lifetime": 600}},
            "refresh": {"class": "idpyoidc.server.token.jwt_token.JWTToken",
                        "kwargs": {"lifetime": 43200, "aud": [issuer]}},
            "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}},
        },
    }


def main(directory, port, redirect_uri):
    issuer = f"http://127.0.0.1:{port}"
    server = Server(OPConfiguration(configuration(issuer), base_path="."), cwd=".")
    context = server.context
    context.cdb["usher-jwt"] = {
        "client_id": "usher-jwt", "redirect_uris": [(redirect_uri, None)], "client_salt": "salt",
        "token_endpoint_auth_method": "private_key_jwt", "response_types_supported": ["code"],
        "allowed_scopes": SCOPES,
    }
    app = Flask("idpyoidc")

    def answer(endpoint, info):
        if isinstance(info, ResponseMessage) and "error" in info:
            return Response(info.to_json(), 400, mimetype="application/json")
        if "redirect_location" in info:
            return redirect(info["redirect_location"])
        if "http_response" in info:
            return Response(info["http_response"])
        said = endpoint.do_response(**info)
        if said.get("response_placement", endpoint.response_placement) == "url":
            return redirect(said["response"])
        return Response(said["response"], said.get("response_code", 400 if "error" in info else 200),
                        headers=said["http_headers"])

    @app.route("/jwks")
    def jwks():
        return server.keyjar.export_jwks()

    @app.post("/login")
    def login():
        method = context.authn_broker.get_method_by_id("user")
        try:
            user = method.verify(**request.form)
        except FailedAuthentication:
            return "wrong password", 403
        kept = method.unpack_token(request.form["token"])
        asked = AuthorizationRequest().from_urlencoded(kept["query"])
        endpoint = server.get_endpoint("authorization")
        session = endpoint.create_session(asked, user, kept["authn_class_ref"], kept["iat"], method)
        return answer(endpoint, endpoint.authz_part2(request=asked, session_id=session))

    @app.route("/<path:path>", methods=["GET", "POST"])
    def serve(path):
        endpoint = next((each for each in server.endpoint.values()
                         if each.endpoint_path.strip("/") == path), None)
        if endpoint is None:
            return "not found", 404
        keys = pathlib.Path(directory) / "keys.json"
        if keys.exists():
            server.keyjar.import_jwks(json.loads(keys.read_text()), "usher-jwt")
        http = {"headers": {k.lower(): v for k, v in request.headers}, "method": request.method,
                "url": request.url, "cookie": []}
        try:
            asked = endpoint.parse_request(request.values.to_dict(), http_info=http)
            if isinstance(asked, ResponseMessage) and "error" in asked:
                return answer(endpoint, asked)
            return answer(endpoint, endpoint.process_request(asked, http_info=http))
        except Exception as problem:
            app.logger.exception("refused")
            error = ResponseMessage(error="invalid_request", error_description=str(problem))
            return answer(endpoint, error)

    app.run("127.0.0.1", int(port), threaded=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
