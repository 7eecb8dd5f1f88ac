import Testing
import UsherCore
import UsherFlows

@Suite("Redirects that carry a state")
struct RedirectTests {
  let state = Secret("s+1/2")
  let uri = "http://127.0.0.1:8765/callback"

  private func read(_ query: String) -> RedirectParseResult {
    RedirectParseResult(query: query, state: state)
  }

  private func paste(_ url: String) -> RedirectParseResult {
    RedirectParseResult(pasted: Secret(url), redirectURI: uri, state: state)
  }

  @Test("a redirect with code, state and issuer is read as the flow's own")
  func good() {
    let answer = AuthorizationResponse(code: Secret("c d"), iss: "https://id.example.com")
    #expect(
      read("code=c+d&state=s%2B1%2F2&iss=https%3A%2F%2Fid.example.com&new=1") == .accepted(answer))
  }

  @Test("a redirect with an error is read as the flow's own, and its description is cleaned")
  func error() {
    let reading = read("error=access_denied&error_description=no%1B%5B0m&state=s%2B1%2F2")
    #expect(
      reading == .accepted(AuthorizationResponse(error: "access_denied", errorDescription: "no[0m"))
    )
  }

  @Test(
    "a redirect without the flow's state, or with the state twice, is not the flow's own",
    arguments: [
      "", "code=c", "code=c&state=", "code=c&state=other", "code=c&state=s%2B1%2F",
      "code=c&state=s%2B1%2F20", "code=c&state=s%2B1%2F2&state=s%2B1%2F2", "code=c&state=s+1/2",
      "code=c&state=s%2B1%2F2&state=other", "code=c&state=other&state=s%2B1%2F2",
      "error=access_denied", "error=access_denied&state=other",
    ])
  func notOurs(query: String) {
    #expect(read(query) == .unrelated)
  }

  @Test("an empty expected state matches no redirect")
  func emptyState() {
    #expect(RedirectParseResult(query: "code=c&state=", state: Secret("")) == .unrelated)
  }

  @Test(
    "a redirect with a repeated parameter, an invalid encoding or excessive length is refused",
    arguments: [
      "code=c&code=d&state=s%2B1%2F2", "code=c&state=s%2B1%2F2&x=1&x=1",
      "code=%zz&state=s%2B1%2F2", "code=%ff&state=s%2B1%2F2",
      String(repeating: "a", count: RedirectParseResult.maxLength + 1),
    ])
  func refused(query: String) {
    guard case .refused = read(query) else {
      Issue.record("the redirect is not refused")
      return
    }
  }

  @Test(
    "a pasted redirect URL is read despite spaces around it, a fragment or an upper-case scheme",
    arguments: [
      "http://127.0.0.1:8765/callback?code=c&state=s%2B1%2F2",
      "  http://127.0.0.1:8765/callback?code=c&state=s%2B1%2F2#_=_\n",
      "HTTP://127.0.0.1:8765/callback?state=s%2B1%2F2&code=c",
    ])
  func pasted(url: String) {
    #expect(paste(url) == .accepted(AuthorizationResponse(code: Secret("c"))))
  }

  @Test(
    "a pasted URL with another scheme, host, port or path than the redirect URI is refused",
    arguments: [
      "", "?code=c&state=s%2B1%2F2", "code=c&state=s%2B1%2F2",
      "https://127.0.0.1:8765/callback?code=c&state=s%2B1%2F2",
      "http://127.0.0.2:8765/callback?code=c&state=s%2B1%2F2",
      "http://127.0.0.1:8766/callback?code=c&state=s%2B1%2F2",
      "http://127.0.0.1/callback?code=c&state=s%2B1%2F2",
      "http://127.0.0.1:8765/callback/?code=c&state=s%2B1%2F2",
      "http://127.0.0.1:8765/?code=c&state=s%2B1%2F2",
      "http://u:p@127.0.0.1:8765/callback?code=c&state=s%2B1%2F2",
      "http://[::1?code=c&state=s%2B1%2F2", "javascript:alert(1)?code=c&state=s%2B1%2F2",
    ])
  func pastedFromElsewhere(url: String) {
    guard case .refused = paste(url) else {
      Issue.record("the redirect is not refused")
      return
    }
  }

  @Test(
    "a pasted redirect URL is read like its query, even if a combining character follows the mark",
    arguments: ["\u{301}=a&code=c&state=s%2B1%2F2", "\u{5A0}", "code=c&state=s%2B1%2F2#\u{301}"])
  func pastedCombining(query: String) {
    #expect(paste("\(uri)?\(query)") == read(String(query.unicodeScalars.prefix { $0 != "#" })))
  }

  @Test("a pasted redirect URL with another state or without one is not the flow's own")
  func pastedNotOurs() {
    #expect(paste(uri + "?code=c&state=x") == .unrelated)
    #expect(paste(uri) == .unrelated)
  }

  @Test("the debug description of a redirect does not contain the code")
  func secret() {
    #expect(!String(reflecting: read("code=canary&state=s%2B1%2F2")).contains("canary"))
  }
}

/// Freedom ID sends no state back: the secret path of the redirect URI identifies the flow.
@Suite("Redirects that are identified by their path")
struct PathRedirectTests {
  let secret = Secret("4f1e")
  let uri = "http://127.0.0.1:8765/callback/4f1e"

  private func read(_ query: String) -> RedirectParseResult {
    RedirectParseResult(query: query, state: secret, form: .freedom)
  }

  private func paste(_ url: String) -> RedirectParseResult {
    RedirectParseResult(pasted: Secret(url), redirectURI: uri, state: secret, form: .freedom)
  }

  @Test(
    "a Freedom ID redirect brings a code under either name or an error code, and needs no state")
  func good() {
    for query in ["code=c", "authorization_code=c", "code=c&new=1&state=other"] {
      #expect(read(query) == .accepted(AuthorizationResponse(code: Secret("c"))))
    }
    #expect(read("error_code=100102") == .accepted(AuthorizationResponse(error: "100102")))
    #expect(
      read("error_code=1%1B2&code=c")
        == .accepted(AuthorizationResponse(code: Secret("c"), error: "12")))
    #expect(read("") == .accepted(AuthorizationResponse()))
  }

  @Test(
    "a Freedom ID redirect with a repeated parameter, under either name, is refused",
    arguments: [
      "code=c&code=c", "code=c&authorization_code=c", "error_code=1&error_code=2", "code=%zz",
    ])
  func refused(query: String) {
    guard case .refused = read(query) else {
      Issue.record("the redirect is not refused")
      return
    }
  }

  @Test("a pasted Freedom ID redirect URL is accepted only with its exact path")
  func pasted() {
    #expect(paste(" \(uri)?code=c#_ ") == .accepted(AuthorizationResponse(code: Secret("c"))))
    for place in [
      "http://127.0.0.1:8765/callback", "http://127.0.0.1:8765/callback/",
      "http://127.0.0.1:8765/callback/4f1f", "http://127.0.0.1:8765/callback/4F1E",
      "http://127.0.0.1:8765/callback/%34f1e", "http://127.0.0.1:8765/callback/4f1e/",
      "http://127.0.0.1:8765/4f1e", "http://127.0.0.1:8766/callback/4f1e",
      "https://127.0.0.1:8765/callback/4f1e",
    ] {
      guard case .refused = paste(place + "?code=c") else {
        Issue.record("the redirect is not refused: \(place)")
        continue
      }
    }
  }

  @Test("a redirect of an OpenID or GoPay provider without a state is not the flow's own")
  func otherForms() {
    #expect(RedirectParseResult(query: "code=c", state: secret) == .unrelated)
    #expect(RedirectParseResult(query: "authCode=c", state: secret, form: .gopay) == .unrelated)
  }
}
