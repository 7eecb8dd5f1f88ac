import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

private let configToken = PaysafeCall.configToken(brand: "acme")

@Suite("Paysafe authorize up to the authorization page")
struct PaysafeBeginTests {
  @Test("Paysafe authorize gets the fingerprint, listens, and then opens the authorization page")
  func way() throws {
    var driven = try Driven(credential: "secret")
    #expect(driven.last == .proceed([.call(configToken)]))
    #expect(driven.flow.view.state == "configuring")
    driven.receive(.called(configToken, .reply(Driven.configReply())))
    let expectation = try #require(driven.expectation)
    #expect(driven.effects == [.listen(expectation)])
    #expect(expectation.host == "127.0.0.1" && expectation.port == nil)
    #expect(expectation.path == "/callback")
    #expect(driven.flow.view.state == "preparing")
    #expect(driven.receive(.listening(redirectURI: Driven.redirectURI)) == .proceed([]))
    #expect(driven.flow.view.state == "authorizing")
    #expect(driven.page?.completes == .loopback)
    #expect(driven.page?.redirectURI == Driven.redirectURI)
    #expect(driven.query["state"] == expectation.state.revealed())
    #expect(driven.query["digital_fingerprint"] == "finger-secret")
  }

  @Test("the authorization URL of Paysafe authorize contains every parameter exactly once")
  func page() throws {
    var driven = try Driven {
      $0.brandIdentity = "globex-2.x"
      $0.resetCredentialsURL = "https://partner.example/reset?a=1&b=2#pin"
      $0.locale = "en-GB"
      $0.loginHint = "some one+1@partner.example"
      $0.loginStrategy = .pin
    }
    driven.toBrowser()
    let page =
      "https://wallet.example.com/v1/auth/brands/globex-2.x/authorize?client_id=acme-wallet&"
    #expect(driven.page?.url.hasPrefix(page) == true)
    #expect(driven.page?.url.contains("login_hint=some+one%2B1%40partner.example") == true)
    var query = driven.query
    #expect(Base64URL.decode(query.removeValue(forKey: "state") ?? "")?.count == 24)
    #expect(Base64URL.decode(query.removeValue(forKey: "code_challenge") ?? "")?.count == 32)
    #expect(
      query == [
        "client_id": "acme-wallet", "response_type": "code", "code_challenge_method": "S256",
        "redirect_uri": Driven.redirectURI, "locale": "en-GB", "login_strategy": "PIN",
        "login_hint": "some one+1@partner.example",
        "reset_credentials_url": "https://partner.example/reset?a=1&b=2#pin",
      ])
    driven = try Driven { $0.loginStrategy = .password }
    driven.toBrowser()
    #expect(driven.query["login_strategy"] == "PASSWORD")
  }

  @Test("the authorization URL of Paysafe authorize has no parameter that was not set")
  func barePage() throws {
    var driven = try Driven()
    driven.toBrowser()
    #expect(
      Set(driven.query.keys) == [
        "client_id", "response_type", "code_challenge", "code_challenge_method", "state",
        "redirect_uri",
      ])
    #expect(driven.page?.url.contains("/auth/brands/acme/authorize?") == true)
  }

  @Test("Paysafe authorize opens the configured authorization path with the brand filled in")
  func otherPath() throws {
    var driven = try Driven(settings: {
      $0.paths.authorize = try ProviderPath(setting: "https://id.example.com/{brandIdentity}/go")
    })
    driven.toBrowser()
    #expect(driven.page?.url.hasPrefix("https://id.example.com/acme/go?") == true)
  }

  @Test("Paysafe authorize requests no config token without a credential or if none is wanted")
  func noConfigToken() throws {
    #expect(try Driven().flow.view.state == "preparing")
    let driven = try Driven(
      credential: "secret",
      settings: {
        $0.digitalFingerprint = false
      })
    #expect(driven.flow.view.state == "preparing")
    #expect(driven.calls == [])
  }

  @Test("Paysafe authorize does not listen if the app receives the redirect")
  func appsRedirect() throws {
    for uri in [
      "https://partner.example/wallet/callback?from=wallet", "http://[::1]:9/cb",
      "http://localhost/cb",
    ] {
      let driven = try Driven { $0.redirectURI = uri }
      #expect(driven.last == .proceed([]))
      #expect(driven.flow.view.state == "authorizing")
      #expect(driven.page?.completes == .submit)
      #expect(driven.page?.redirectURI == uri)
      #expect(driven.query["redirect_uri"] == uri)
    }
  }

  @Test(
    "Paysafe authorize fails without an ephemeral port, but accepts pasting for a taken fixed one")
  func listenFailed() throws {
    var driven = try Driven()
    driven.receive(.listenFailed("none left"))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.retryable == true)

    let fixed = "http://127.0.0.1:8766/cb"
    let change: (inout PaysafeSettings) throws -> Void = {
      $0.redirect = try Redirect(setting: fixed)
    }
    driven = try Driven(settings: change)
    #expect(driven.expectation?.port == 8766 && driven.expectation?.path == "/cb")
    driven.receive(.listenFailed("taken"))
    #expect(driven.page?.completes == .submit)
    #expect(driven.query["redirect_uri"] == fixed)
    driven = try Driven(settings: change)
    driven.receive(.listening(redirectURI: "http://127.0.0.1:8766/cb"))
    #expect(driven.page?.completes == .loopback)
  }
}

@Suite("Config token of Paysafe authorize")
struct PaysafeConfigTokenTests {
  private func answered(_ outcome: CallOutcome) throws -> Driven {
    var driven = try Driven(credential: "secret")
    driven.receive(.called(configToken, outcome))
    return driven
  }

  @Test("Paysafe authorize continues without a fingerprint if the config token reply has none")
  func without() throws {
    for reply in [
      Driven.configReply(["digital_fingerprint": .some(nil)]),
      Driven.configReply(["digital_fingerprint": .null]), reply([:]),
    ] {
      var driven = try answered(.reply(reply))
      driven.toBrowser()
      #expect(driven.page != nil)
      #expect(driven.query["digital_fingerprint"] == nil)
    }
  }

  @Test("Paysafe authorize fails if the digital fingerprint is malformed or too long")
  func unusable() throws {
    for value in ["", "a b", "a\u{0}", "ü", .string(String(repeating: "x", count: 2049)), 5, []]
      as [JSONValue]
    {
      let driven = try answered(.reply(Driven.configReply(["digital_fingerprint": value])))
      #expect(driven.failure?.reason == .providerProtocolError)
    }
    let longest = JSONValue.string(String(repeating: "x", count: 2048))
    let driven = try answered(.reply(Driven.configReply(["digital_fingerprint": longest])))
    #expect(driven.flow.view.state == "preparing")
  }

  @Test("Paysafe authorize does not store the config token and does not print the fingerprint")
  func secrecy() throws {
    var driven = try answered(.reply(Driven.configReply()))
    driven.toBrowser()
    #expect(try !stored(driven.flow).contains("config-secret"))
    #expect(try stored(driven.flow).contains("finger-secret"))
    #expect(!String(reflecting: driven.flow).contains("finger-secret"))
  }

  @Test(
    "a refused config token request ends Paysafe authorize with the provider's error code",
    arguments: ["invalid_client", "unauthorized_client", "invalid_grant", "unsupported_grant_type"])
  func refused(code: String) throws {
    let driven = try answered(
      .reply(
        reply(["error": .string(code), "error_description": "said so"], status: 401)))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider == word(code, "said so"))
  }

  @Test("an unreadable config token reply ends Paysafe authorize with provider_protocol_error")
  func unreadable() throws {
    for outcome in [
      CallOutcome.reply(reply(text: "<html>")), .unreadable(message: "too long"),
      .noToken(message: "none"),
    ] {
      #expect(try answered(outcome).failure?.reason == .providerProtocolError)
    }
  }

  @Test("Paysafe authorize repeats the config token request after 1, 2, 4, 8 and 16 s, then fails")
  func backOff() throws {
    for outcome in [
      CallOutcome.unreachable(message: "gone", sent: true),
      .unreachable(message: "gone", sent: false),
      .reply(reply(["error": "server_error"], status: 400)), .reply(reply(text: "", status: 503)),
    ] {
      var driven = try Driven(credential: "secret")
      for seconds in [1, 2, 4, 8, 16] {
        driven.receive(.called(configToken, outcome))
        #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
        #expect(driven.flow.view.problem?.reason == "provider_unreachable")
        #expect(driven.receive(.woken) == .proceed([.call(configToken)]))
        #expect(driven.receive(.woken) == .ignore)
      }
      var later = driven
      later.toBrowser()
      #expect(later.flow.view.problem == nil)
      driven.receive(.called(configToken, outcome))
      #expect(driven.failure?.reason == .providerUnreachable)
      #expect(driven.failure?.retryable == true)
    }
  }

  @Test("Paysafe authorize waits as long as Retry-After says before the next config token request")
  func retryAfter() throws {
    let driven = try answered(.reply(reply(text: "", status: 503, headers: ["retry-after": "30"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(30))]))
  }
}
