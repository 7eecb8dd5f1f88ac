import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("OIDC authorize up to the authorization page")
struct AuthorizeBeginTests {
  @Test("OIDC authorize discovers the provider, listens, and then opens the authorization page")
  func way() throws {
    var driven = try DrivenAuthorize()
    #expect(driven.last == .proceed([.discover]))
    #expect(driven.flow.view.state == "discovering")
    driven.receive(.discovered(.found(metadata())))
    guard case .proceed(let effects) = driven.last, effects.count == 1,
      case .listen(let expectation) = effects[0]
    else {
      Issue.record("the flow asks for no listener")
      return
    }
    #expect(expectation.host == "127.0.0.1" && expectation.port == nil)
    #expect(expectation.path == "/callback")
    #expect(driven.flow.view.state == "preparing")
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.last == .proceed([]))
    #expect(driven.step?.completes == .loopback)
    #expect(driven.step?.redirectURI == DrivenAuthorize.redirectURI)
    #expect(driven.query["state"] == expectation.state.revealed())
  }

  @Test("the authorization URL of OIDC authorize contains every parameter exactly once")
  func page() throws {
    var params = OIDCAuthorize.Params()
    params.loginHint = "ada@example.com"
    params.prompt = "login"
    params.uiLocales = "de en"
    params.acrValues = "2"
    params.maxAgeSeconds = 60
    params.scope = "email  x"
    var driven = try DrivenAuthorize(params) {
      $0.audience = "api"
      $0.extraAuthorize = ["prompt": "consent", "kc_idp_hint": "a b"]
    }
    driven.toBrowser(metadata { $0.authorizationEndpoint = issuer + "/authorize?tenant=1" })
    #expect(driven.step?.url.hasPrefix(issuer + "/authorize?tenant=1&response_type=code&") == true)
    var query = driven.query
    for name in ["state", "nonce"] {
      #expect(Base64URL.decode(query.removeValue(forKey: name) ?? "")?.count == 24)
    }
    #expect(Base64URL.decode(query.removeValue(forKey: "code_challenge") ?? "")?.count == 32)
    #expect(
      query == [
        "tenant": "1", "response_type": "code", "client_id": "usher",
        "redirect_uri": DrivenAuthorize.redirectURI, "scope": "openid email x",
        "code_challenge_method": "S256", "login_hint": "ada@example.com", "prompt": "login",
        "ui_locales": "de en", "acr_values": "2", "max_age": "60", "audience": "api",
        "kc_idp_hint": "a b",
      ])
  }

  @Test(
    "offline_access is requested with prompt=consent, unless the caller or operator sets a prompt",
    arguments: [
      (nil, [:], nil, "consent"), (nil, ["prompt": "select_account"], nil, "select_account"),
      (nil, [:], "login", "login"), ("openid email", [:], nil, nil),
      ("openid offline_access", [:], nil, "consent"),
    ] as [(String?, [String: String], String?, String?)])
  func offlineAccess(
    scope: String?, extra: [String: String], prompt: String?, expected: String?
  ) throws {
    var params = OIDCAuthorize.Params()
    params.scope = scope
    params.prompt = prompt
    var driven = try DrivenAuthorize(params) { $0.extraAuthorize = extra }
    driven.toBrowser()
    #expect(driven.query["prompt"] == expected)
  }

  @Test("the configured offline_access is left out if the provider lists its scopes without it")
  func unknownScope() throws {
    for (listed, requested, scope, prompt) in [
      (["openid", "profile"], nil, "openid profile", nil),
      (["openid", "offline_access"], nil, "openid profile offline_access", "consent"),
      // A scope that the caller names is sent unchanged; the provider decides about it.
      (["openid"], "openid offline_access", "openid offline_access", "consent"),
    ] as [([String], String?, String, String?)] {
      var params = OIDCAuthorize.Params()
      params.scope = requested
      var driven = try DrivenAuthorize(params)
      driven.toBrowser(metadata { $0.scopes = listed })
      #expect(driven.query["scope"] == scope && driven.query["prompt"] == prompt)
    }
  }

  @Test("OIDC authorize requests the configured scopes if the caller names none")
  func scopes() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    #expect(driven.query["scope"] == "openid profile offline_access")
  }

  @Test("OIDC authorize refuses an invalid parameter with an error that names the field")
  func badParams() throws {
    let changes: [(String, (inout OIDCAuthorize.Params) -> Void)] = [
      ("params.scope", { $0.scope = "" }), ("params.scope", { $0.scope = "a\"b" }),
      ("params.scope", { $0.scope = "a\nb" }), ("params.loginHint", { $0.loginHint = "" }),
      ("params.prompt", { $0.prompt = "a\u{0}" }),
      ("params.uiLocales", { $0.uiLocales = String(repeating: "x", count: 1025) }),
      ("params.acrValues", { $0.acrValues = "\u{1B}" }),
      ("params.maxAgeSeconds", { $0.maxAgeSeconds = -1 }),
    ]
    for (field, change) in changes {
      var params = OIDCAuthorize.Params()
      change(&params)
      do {
        _ = try DrivenAuthorize(params)
        Issue.record("the flow accepts \(field)")
      } catch let error as UsherError {
        #expect(error.reason == .invalidParams)
        #expect(error.detail.field == field)
      }
    }
  }

  @Test("OIDC authorize repeats discovery after 1, 2, 4, 8 and 16 seconds, then fails")
  func backOff() throws {
    var driven = try DrivenAuthorize()
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.discovered(.unreachable(message: "gone")))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.flow.view.problem == .unreachable("gone"))
      #expect(driven.receive(.woken) == .proceed([.discover]))
      #expect(driven.receive(.woken) == .ignore)
    }
    driven.receive(.discovered(.unreachable(message: "gone")))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.retryable == true)
  }

  @Test("OIDC authorize clears its problem once the provider can be reached again")
  func problemGone() throws {
    var driven = try DrivenAuthorize()
    driven.receive(.discovered(.unreachable(message: "gone")))
    driven.receive(.woken)
    driven.toBrowser()
    #expect(driven.flow.view.problem == nil)
  }

  @Test(
    "OIDC authorize fails if the provider's metadata is unusable or has no authorization endpoint")
  func unusable() throws {
    var driven = try DrivenAuthorize()
    driven.receive(.discovered(.unusable(message: "bad")))
    #expect(driven.failure == .protocolError("bad"))
    driven.receive(.discovered(.found(metadata { $0.authorizationEndpoint = nil })))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test(
    "OIDC authorize fails without an ephemeral port, but accepts pasting for a taken fixed port")
  func listenFailed() throws {
    var driven = try DrivenAuthorize()
    driven.receive(.discovered(.found(metadata())))
    driven.receive(.listenFailed("none left"))
    #expect(driven.failure?.retryable == true)

    let fixed = "http://127.0.0.1:8765/cb"
    driven = try DrivenAuthorize(redirect: fixed)
    driven.receive(.discovered(.found(metadata())))
    driven.receive(.listenFailed("taken"))
    #expect(driven.step?.completes == .submit)
    #expect(driven.step?.redirectURI == fixed)
    #expect(driven.query["redirect_uri"] == fixed)
    let url = Secret("\(fixed)?code=code-secret&state=\(driven.query["state"] ?? "")")
    driven.receive(.input(.redirect(url: url)))
    #expect(driven.calls.count == 1)
  }

  @Test("OIDC authorize listens at the address of a fixed redirect and shows it as configured")
  func fixed() throws {
    var driven = try DrivenAuthorize(redirect: "http://[::1]:8765/cb")
    driven.receive(.discovered(.found(metadata())))
    guard case .proceed(let effects) = driven.last, case .listen(let expectation)? = effects.first
    else {
      Issue.record("the flow asks for no listener")
      return
    }
    #expect(expectation.host == "::1" && expectation.port == 8765 && expectation.path == "/cb")
    driven.receive(.listening(redirectURI: "http://0:0:0:0:0:0:0:1:8765/cb"))
    #expect(driven.step?.redirectURI == "http://[::1]:8765/cb")
  }
}

@Suite("The redirect of OIDC authorize")
struct AuthorizeRedirectTests {
  @Test(
    "OIDC authorize stops listening and redeems the code with the PKCE verifier of its challenge")
  func code() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    let query = driven.query
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    guard case .proceed(let effects) = driven.last, effects.first == .stopListening,
      case .exchange(let exchange, _)? = driven.calls.first
    else {
      Issue.record("the flow does not redeem the code")
      return
    }
    #expect(exchange.code == Secret("code-secret"))
    #expect(exchange.redirectURI == DrivenAuthorize.redirectURI)
    #expect(PKCE.challenge(of: exchange.verifier) == query["code_challenge"])
    #expect(driven.flow.view.state == "exchanging")
  }

  @Test("OIDC authorize accepts only its own redirect URL as pasted input")
  func pasted() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    let before = driven.flow
    for url in [
      "", DrivenAuthorize.redirectURI, DrivenAuthorize.redirectURI + "?code=c&state=wrong",
      "https://evil.example.com/?code=c", DrivenAuthorize.redirectURI + "?code=c",
    ] {
      driven.receive(.input(.redirect(url: Secret(url))))
      guard case .refuse(field: "input.redirectURL", _) = driven.last else {
        Issue.record("the redirect URL is not refused: \(url)")
        continue
      }
      #expect(driven.flow == before)
    }
    driven.receive(.input(.back(.openURL)))
    guard case .refuse = driven.last else {
      Issue.record("the flow accepts a step back")
      return
    }
    let url = "\(DrivenAuthorize.redirectURI)?code=code-secret&state=\(driven.query["state"] ?? "")"
    driven.receive(.input(.redirect(url: Secret(url))))
    #expect(driven.calls.count == 1)
  }

  @Test(
    "an error in the redirect ends OIDC authorize, even if a code is beside it",
    arguments: [
      ("access_denied", .denied, true), ("invalid_scope", .providerRejected, false),
      ("login_required", .providerRejected, false), ("server_error", .providerUnreachable, true),
      ("temporarily_unavailable", .providerUnreachable, true), ("", .providerRejected, false),
    ] as [(String, Failure.Reason, Bool)])
  func error(code: String, reason: Failure.Reason, retryable: Bool) throws {
    for beside in [nil, Secret("code-secret")] {
      var driven = try DrivenAuthorize()
      driven.toBrowser()
      driven.receive(
        .redirected(AuthorizationResponse(code: beside, error: code, errorDescription: "said so")))
      #expect(driven.failure?.reason == reason)
      #expect(driven.failure?.retryable == retryable)
      #expect(driven.failure?.provider == word(code.isEmpty ? "unknown" : code, "said so"))
    }
  }

  @Test("a pasted redirect URL with an error ends OIDC authorize as a redirect with it does")
  func pastedError() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    let query = "error=access_denied&state=\(driven.query["state"] ?? "")"
    driven.receive(.input(.redirect(url: Secret("\(DrivenAuthorize.redirectURI)?\(query)"))))
    #expect(driven.failure?.reason == .denied)
    #expect(driven.failure?.provider?.code == "access_denied")
  }

  @Test(
    "a redirect with neither a code nor an error ends OIDC authorize with provider_protocol_error")
  func neither() throws {
    for answer in [AuthorizationResponse(), AuthorizationResponse(code: Secret(""))] {
      var driven = try DrivenAuthorize()
      driven.toBrowser()
      driven.receive(.redirected(answer))
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("OIDC authorize refuses a redirect whose iss names another issuer (mix-up attack)")
  func issuers() throws {
    let others: [AuthorizationResponse] = [
      .init(code: Secret("c"), iss: "https://evil.example.com"),
      .init(code: Secret("c"), iss: issuer + "/"), .init(code: Secret("c"), iss: ""),
      .init(error: "access_denied", iss: "https://evil.example.com"),
    ]
    for answer in others {
      var driven = try DrivenAuthorize()
      driven.toBrowser()
      driven.receive(.redirected(answer))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.calls == [])
    }
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    driven.receive(.redirected(AuthorizationResponse(code: Secret("c"), iss: issuer)))
    #expect(driven.calls.count == 1)
  }

  @Test(
    "OIDC authorize refuses a redirect without iss if the metadata promises iss in every answer")
  func missingIssuer() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser(metadata { $0.namesIssuerInRedirect = true })
    driven.receive(.redirected(AuthorizationResponse(code: Secret("c"))))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("an error redirect without iss ends OIDC authorize with the error, also if iss is promised")
  func errorWithoutIssuer() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser(metadata { $0.namesIssuerInRedirect = true })
    var answer = AuthorizationResponse()
    answer.error = "access_denied"
    driven.receive(.redirected(answer))
    #expect(driven.failure?.reason == .denied)
    var other = try DrivenAuthorize()
    other.toBrowser(metadata { $0.namesIssuerInRedirect = true })
    answer.iss = "https://evil.example.com"
    other.receive(.redirected(answer))
    #expect(other.failure?.reason == .providerProtocolError)
  }
}
