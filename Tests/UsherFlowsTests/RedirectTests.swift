import Testing
import UsherCore
import UsherFlows

@Suite("A redirect")
struct RedirectTests {
  let state = Secret("s+1/2")
  let uri = "http://127.0.0.1:8765/callback"

  private func read(_ query: String) -> RedirectReading {
    RedirectReading(query: query, state: state)
  }

  private func paste(_ url: String) -> RedirectReading {
    RedirectReading(pasted: Secret(url), redirectURI: uri, state: state)
  }

  @Test("with code, state and issuer is ours")
  func good() {
    let answer = RedirectAnswer(code: Secret("c d"), iss: "https://id.example.com")
    #expect(
      read("code=c+d&state=s%2B1%2F2&iss=https%3A%2F%2Fid.example.com&new=1") == .ours(answer))
  }

  @Test("with an error is ours, and its words are clean")
  func error() {
    let reading = read("error=access_denied&error_description=no%1B%5B0m&state=s%2B1%2F2")
    #expect(
      reading == .ours(RedirectAnswer(error: "access_denied", errorDescription: "no[0m")))
  }

  @Test(
    "without our state, or with two, is not ours",
    arguments: [
      "", "code=c", "code=c&state=", "code=c&state=other", "code=c&state=s%2B1%2F",
      "code=c&state=s%2B1%2F2&state=s%2B1%2F2", "code=c&state=s+1/2",
    ])
  func notOurs(query: String) {
    #expect(read(query) == .notOurs)
  }

  @Test("an empty expectation fits nothing")
  func emptyState() {
    #expect(RedirectReading(query: "code=c&state=", state: Secret("")) == .notOurs)
  }

  @Test(
    "with a parameter twice, or not a form, is refused",
    arguments: [
      "code=c&code=d&state=s%2B1%2F2", "code=c&state=s%2B1%2F2&x=1&x=1",
      "code=%zz&state=s%2B1%2F2", "code=%ff&state=s%2B1%2F2",
      String(repeating: "a", count: RedirectReading.maxLength + 1),
    ])
  func refused(query: String) {
    guard case .refused = read(query) else {
      Issue.record("not refused")
      return
    }
  }

  @Test(
    "is pasted whole, with what surrounds it",
    arguments: [
      "http://127.0.0.1:8765/callback?code=c&state=s%2B1%2F2",
      "  http://127.0.0.1:8765/callback?code=c&state=s%2B1%2F2#_=_\n",
      "HTTP://127.0.0.1:8765/callback?state=s%2B1%2F2&code=c",
    ])
  func pasted(url: String) {
    #expect(paste(url) == .ours(RedirectAnswer(code: Secret("c"))))
  }

  @Test(
    "pasted from another place is refused",
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
      Issue.record("not refused")
      return
    }
  }

  @Test("pasted with another state is not ours")
  func pastedNotOurs() {
    #expect(paste(uri + "?code=c&state=x") == .notOurs)
    #expect(paste(uri) == .notOurs)
  }

  @Test("does not print its code")
  func secret() {
    #expect(!String(reflecting: read("code=canary&state=s%2B1%2F2")).contains("canary"))
  }
}

/// A provider that sends no state back: where it arrives tells whose it is.
@Suite("A redirect that is known by its path")
struct PathRedirectTests {
  let secret = Secret("4f1e")
  let uri = "http://127.0.0.1:8765/callback/4f1e"

  private func read(_ query: String) -> RedirectReading {
    RedirectReading(query: query, state: secret, form: .freedom)
  }

  private func paste(_ url: String) -> RedirectReading {
    RedirectReading(pasted: Secret(url), redirectURI: uri, state: secret, form: .freedom)
  }

  @Test("has its code by either name, or an error, and needs no state")
  func good() {
    for query in ["code=c", "authorization_code=c", "code=c&new=1&state=other"] {
      #expect(read(query) == .ours(RedirectAnswer(code: Secret("c"))))
    }
    #expect(read("error_code=100102") == .ours(RedirectAnswer(error: "100102")))
    #expect(
      read("error_code=1%1B2&code=c") == .ours(RedirectAnswer(code: Secret("c"), error: "12")))
    #expect(read("") == .ours(RedirectAnswer()))
  }

  @Test(
    "with a parameter twice, by whatever name, is refused",
    arguments: [
      "code=c&code=c", "code=c&authorization_code=c", "error_code=1&error_code=2", "code=%zz",
    ])
  func refused(query: String) {
    guard case .refused = read(query) else {
      Issue.record("not refused")
      return
    }
  }

  @Test("is pasted with its whole path, and no other")
  func pasted() {
    #expect(paste(" \(uri)?code=c#_ ") == .ours(RedirectAnswer(code: Secret("c"))))
    for place in [
      "http://127.0.0.1:8765/callback", "http://127.0.0.1:8765/callback/",
      "http://127.0.0.1:8765/callback/4f1f", "http://127.0.0.1:8765/callback/4F1E",
      "http://127.0.0.1:8765/callback/%34f1e", "http://127.0.0.1:8765/callback/4f1e/",
      "http://127.0.0.1:8765/4f1e", "http://127.0.0.1:8766/callback/4f1e",
      "https://127.0.0.1:8765/callback/4f1e",
    ] {
      guard case .refused = paste(place + "?code=c") else {
        Issue.record("not refused: \(place)")
        continue
      }
    }
  }

  @Test("of a provider that sends a state is not known by it")
  func otherForms() {
    #expect(RedirectReading(query: "code=c", state: secret) == .notOurs)
    #expect(RedirectReading(query: "authCode=c", state: secret, form: .gopay) == .notOurs)
  }
}
