import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// If another user of the machine holds the redirect port, that user gets the provider's answer.
@Suite("Redirect ports that another user holds")
struct TakenPortTests {
  private static let fixed = "http://127.0.0.1:8765/cb"
  private static let taken = "port 8765 of the redirect is in use by user ben"

  @Test(
    "OIDC authorize with PKCE accepts pasting if another user holds the port, and names the user")
  func withPKCE() throws {
    var driven = try DrivenAuthorize(redirect: Self.fixed)
    driven.receive(.discovered(.found(metadata())))
    driven.receive(.listenFailed(Self.taken, mayReachAnother: true))
    #expect(driven.step?.completes == .submit)
    #expect(driven.flow.view.problem?.reason == "no_listener")
    #expect(driven.flow.view.problem?.message.contains(Self.taken) == true)
  }

  @Test("OIDC authorize without PKCE fails before its page if another user holds the port")
  func withoutPKCE() throws {
    var driven = try DrivenAuthorize(redirect: Self.fixed) { $0.pkce = false }
    driven.receive(.discovered(.found(metadata())))
    let last = driven.receive(.listenFailed(Self.taken, mayReachAnother: true))
    guard case .fail(let failure, _) = last else {
      Issue.record("the flow continues: \(last)")
      return
    }
    #expect(failure.reason == .invalidRequest && failure.retryable)
    #expect(failure.message.contains(Self.taken))
  }

  @Test("OIDC authorize accepts pasting if the same user holds the port, with or without PKCE")
  func ownProgram() throws {
    for pkce in [true, false] {
      var driven = try DrivenAuthorize(redirect: Self.fixed) { $0.pkce = pkce }
      driven.receive(.discovered(.found(metadata())))
      driven.receive(.listenFailed(Self.taken))
      #expect(driven.step?.completes == .submit && driven.flow.view.problem == nil)
    }
  }

  @Test("a restored OIDC authorize without PKCE fails if another user holds its old port")
  func restarted() throws {
    for (pkce, redirect) in [(true, Self.fixed), (false, Self.fixed), (false, "loopback")] {
      // The provider type `oidc` always uses PKCE, so its stored flows do not keep a `pkce` choice.
      // Stored flows of type `freedomid` do.
      let provider = try Freedom.provider {
        $0.mode = .oidc
        $0.pkce = pkce
        $0.redirect = try Redirect(setting: redirect)
      }
      var driven = try DrivenAuthorize(provider: provider)
      driven.toBrowser()
      driven.flow = try storedAndRead(driven.flow)
      driven.receive(.resumed)
      let last = driven.receive(.listenFailed(Self.taken, mayReachAnother: true))
      if case .fail = last {
        #expect(!pkce)
      } else {
        #expect(pkce)
        #expect(driven.flow.view.problem?.reason == "no_listener")
      }
    }
  }
}
