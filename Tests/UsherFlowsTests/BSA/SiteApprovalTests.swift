import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenSignIn

/// While a one-time code is shown, any site can begin the sign-in: the user must approve that site.
@Suite("Approval of the site that asks for a sign-in (BSA)")
struct SiteApprovalTests {
  private func reason(_ driven: Driven) -> String? {
    if case .localAuth(let step) = driven.step { step.reason } else { nil }
  }

  @Test(
    "the user must approve the site of a BSA sign-in, even just after authenticating for the code")
  func named() throws {
    for way in [BSAAuthenticate.Way.otp, .totp] {
      var driven = try Driven.showing(way)
      driven.said(Driven.wish)
      #expect(driven.state == "localAuth", "\(way)")
      #expect(driven.calls.isEmpty, "\(way): no call before the user approves the site")
      driven.look()
      #expect(
        reason(driven) == "sign in to https://shop.example.com by bsa as ada.1815", "\(way)")
      driven.say(.passcode(Secret("1234-passcode")))
      driven.answer(.checked(.accepted))
      #expect(driven.calls == [.start(Driven.visit(way), userKey: BSAParts.userKey)])
    }
  }

  @Test("a site that the user rejects has its sign-in cancelled at BSA")
  func denied() throws {
    for way in [BSAAuthenticate.Way.otp, .totp] {
      var driven = try Driven.showing(way)
      driven.said(Driven.wish)
      driven.look()
      driven.say(.cancelLocalAuth)
      #expect(driven.failure?.reason == .cancelled)
      #expect(driven.cleared == [.cancel(Driven.visit(way))])
    }
  }

  @Test("a BSA site without a usable address is shown as a site that gives no address")
  func nameless() throws {
    for url: JSONValue in [nil, "", "\u{1B}", 7] {
      var driven = try Driven(.push)
      driven.said(["isExist": true, "clientKey": "site-key-secret", "siteURL": url])
      driven.look()
      #expect(
        reason(driven) == "sign in to a site without an address by bsa as ada.1815")
    }
  }
}
