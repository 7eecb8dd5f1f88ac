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

  @Test("a response mode that the provider does not list ends the sign-in, and the message names it")
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
