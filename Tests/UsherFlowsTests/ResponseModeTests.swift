import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Response modes of authorization requests")
struct ResponseModeTests {
  private static let fixed = "http://127.0.0.1:8765/cb"

  @Test("response_mode is requested unless it is query, and the listener expects a posted answer")
  func requested() throws {
    var plain = try DrivenAuthorize()
    plain.toBrowser()
    #expect(plain.query["response_mode"] == nil)
    var driven = try DrivenAuthorize { $0.responseMode = .formPost }
    driven.receive(.discovered(.found(metadata { $0.responseModes = ["query", "form_post"] })))
    guard case .proceed(let effects) = driven.last, case .listen(let expectation)? = effects.first
    else {
      Issue.record("the flow asks for no listener")
      return
    }
    #expect(expectation.form.isPosted)
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.query["response_mode"] == "form_post")
  }

  @Test("a response mode that the provider does not list ends the sign-in with its name")
  func unknown() throws {
    for (listed, mode, isRefused) in [
      (["query"], .formPost, true), (nil, .formPost, false), (["form_post"], .formPost, false),
      (["fragment"], .query, false),
    ] as [([String]?, OIDCResponseMode, Bool)] {
      var driven = try DrivenAuthorize { $0.responseMode = mode }
      driven.receive(.discovered(.found(metadata { $0.responseModes = listed })))
      #expect((driven.failure != nil) == isRefused)
      guard isRefused else { continue }
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.message.contains("form_post") == true)
    }
  }

  @Test("a posted answer cannot be pasted, so a sign-in without a listener fails")
  func pasted() throws {
    var driven = try DrivenAuthorize(redirect: Self.fixed) { $0.responseMode = .formPost }
    driven.toBrowser()
    let url = Secret("\(Self.fixed)?code=c&state=\(driven.query["state"] ?? "")")
    guard case .refuse(let field, _) = driven.receive(.input(.redirect(url: url))) else {
      Issue.record("the pasted URL is not refused")
      return
    }
    #expect(field == "input.redirectURL")
    driven.receive(.resumed)
    driven.receive(.listenFailed("port 8765 is in use"))
    #expect(driven.failure?.reason == .invalidRequest)
    driven = try DrivenAuthorize(redirect: Self.fixed) { $0.responseMode = .formPost }
    driven.receive(.discovered(.found(metadata())))
    driven.receive(.listenFailed("port 8765 is in use"))
    #expect(driven.failure?.message.contains("port 8765") == true)
  }
}

@Suite("Answers that the provider signs (JARM)")
struct SignedAnswerTests {
  private static func response(_ driven: DrivenAuthorize) -> JSONValue {
    [
      "iss": .string(issuer), "aud": "usher", "exp": 1_800_000_060, "code": "code-secret",
      "state": .string(driven.query["state"] ?? ""),
    ]
  }

  /// Returns a flow at its page.
  private func opened() throws -> DrivenAuthorize {
    var driven = try DrivenAuthorize { $0.responseMode = .jwt }
    driven.toBrowser()
    return driven
  }

  @Test("a redirect with a signed answer is known by the state in it, and nothing beside it counts")
  func parsed() throws {
    var form = RedirectForm.oauth
    form.isSigned = true
    let answer = signed(["alg": "RS256"], ["state": "s", "code": "c"]).revealed()
    let other = signed(["alg": "RS256"], ["state": "t"]).revealed()
    func read(_ query: String) -> RedirectParseResult {
      RedirectParseResult(query: query, state: Secret("s"), form: form)
    }
    let accepted = RedirectParseResult.accepted(AuthorizationResponse(signed: Secret(answer)))
    #expect(read("response=\(answer)") == accepted)
    #expect(read("response=\(answer)&code=x&iss=y&error=z") == accepted)
    #expect(read("code=x&state=s") == .accepted(AuthorizationResponse()))
    for query in [
      "response=\(other)", "response=x", "response=", "code=x",
      "response=\(answer)&response=\(other)",
      "response=\(other)&state=t",
    ] {
      #expect(read(query) == .unrelated, "\(query)")
    }
    guard case .refused = read("response=\(answer)&response=\(answer)&state=s") else {
      Issue.record("a repeated parameter is not refused")
      return
    }
    // A flow that expects no signed answer does not look into one.
    #expect(RedirectParseResult(query: "response=\(answer)", state: Secret("s")) == .unrelated)
    #expect(RedirectParseResult.state(in: "response=\(answer)") == nil)
    #expect(RedirectParseResult.state(in: "response=\(answer)", isSigned: true) == Secret("s"))
  }

  @Test("the answer's signature is verified before its code is redeemed")
  func verified() throws {
    var driven = try opened()
    let answer = Secret("a.b.c")
    driven.receive(.redirected(AuthorizationResponse(signed: answer)))
    let verification = Effect<OIDCCall>.verifyIDToken(
      answer, as: .authorizationResponse, metadata: metadata())
    #expect(driven.last == .proceed([.stopListening, verification]))
    #expect(driven.flow.view.state == "checking")
    driven.receive(.idTokenVerified(.unreachable(message: "gone")))
    #expect(driven.flow.view.problem?.reason == "provider_unreachable")
    #expect(driven.receive(.woken) == .proceed([verification]))
  }

  @Test("a signed answer with a wrong claim ends the sign-in, and the message names the claim")
  func claims() throws {
    for (claim, value, words) in [
      ("iss", "https://evil.example", "iss"), ("iss", nil, "iss"), ("aud", "another", "aud"),
      ("aud", nil, "aud"), ("aud", ["usher", "another"], "aud"), ("aud", [], "aud"),
      ("exp", 1_799_999_939, "exp"), ("exp", "1900000000", "exp"), ("exp", nil, "exp"),
      ("state", "another", "state"), ("state", nil, "state"), ("code", nil, "neither a code"),
      ("code", "code-secret", nil), ("aud", ["usher"], nil), ("exp", 1_799_999_941, nil),
    ] as [(String, JSONValue?, String?)] {
      var driven = try opened()
      var response = Self.response(driven)
      response[claim] = value
      driven.receive(.redirected(AuthorizationResponse(signed: Secret("a.b.c"))))
      driven.receive(.idTokenVerified(.genuine(payload: response.encoded())))
      #expect((driven.failure == nil) == (words == nil), "\(claim)")
      guard let words else {
        #expect(driven.flow.view.state == "exchanging" && driven.calls.count == 1)
        continue
      }
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.message.contains(words) == true, "\(driven.failure?.message ?? "")")
      #expect(driven.failure?.message.contains("code-secret") == false)
    }
  }

  @Test("a signed error ends the sign-in with the provider's code")
  func error() throws {
    var driven = try opened()
    var response = Self.response(driven)
    response["code"] = nil
    response["error"] = "access_denied"
    driven.receive(.redirected(AuthorizationResponse(signed: Secret("a.b.c"))))
    driven.receive(.idTokenVerified(.genuine(payload: response.encoded())))
    #expect(driven.failure?.reason == .denied)
  }

  @Test("an answer that is not signed, or not genuine, ends the sign-in without its code")
  func unsigned() throws {
    var driven = try opened()
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.failure?.message.contains("not signed") == true)
    driven = try opened()
    driven.receive(.redirected(AuthorizationResponse(signed: Secret("a.b.c"))))
    driven.receive(.idTokenVerified(.refused(message: "the signed answer's signature is wrong")))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("after a restart an answer that was not verified yet is gone, and a new round begins")
  func restarted() throws {
    var driven = try opened()
    let state = driven.query["state"]
    driven.receive(.redirected(AuthorizationResponse(signed: Secret("a.b.c"))))
    #expect(!(try stored(driven.flow)).contains("a.b.c"))
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.resumed)
    #expect(driven.flow.view.state == "preparing")
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.query["state"] != state)
  }

  @Test("the algorithms of answers are those that the metadata lists for them")
  func algorithms() {
    let listed = metadata {
      $0.idTokenAlgorithms = ["ES256"]
      $0.responseAlgorithms = ["PS256", "none", "HS256"]
    }
    #expect(SigningAlgorithm.accepted(by: listed, for: .authorizationResponse) == [.ps256])
    #expect(SigningAlgorithm.accepted(by: metadata(), for: .authorizationResponse) == [.rs256])
    let key = SigningKey(
      for: signed(["alg": "none"]), in: ["keys": []],
      TokenProtection(
        reply: .authorizationResponse,
        algorithms: SigningAlgorithm.accepted(by: listed, for: .authorizationResponse)))
    guard case .refused(let message) = key else {
      Issue.record("the algorithm none is accepted")
      return
    }
    #expect(message.hasPrefix("the signed answer's alg none is not accepted"))
  }
}

@Suite("Redirect paths")
struct RedirectPathTests {
  @Test("the path of a redirect without a port is the one that is registered, with any port")
  func portless() throws {
    for (setting, host, path, isLocalhost) in [
      ("loopback", "127.0.0.1", "/callback", false),
      ("localhost", "127.0.0.1", "/callback", true),
      ("http://127.0.0.1/callback/work", "127.0.0.1", "/callback/work", false),
      ("http://localhost/cb", "127.0.0.1", "/cb", true), ("http://[::1]/", "::1", "/", false),
    ] {
      let redirect = try Redirect(setting: setting)
      #expect(redirect.settingText == setting && !redirect.isFixed && redirect.path == path)
      #expect(redirect.fixedURI(Secret("s"), .oauth) == nil)
      let earlier = "http://\(host.contains(":") ? "[\(host)]" : host):4711\(path)"
      for port in [nil, 4711] {
        #expect(
          redirect.expectation(state: Secret("s"), earlier: port == nil ? nil : earlier)
            == RedirectExpectation(
              host: host, port: port, path: path, state: Secret("s"), isLocalhost: isLocalhost))
      }
    }
  }
}
