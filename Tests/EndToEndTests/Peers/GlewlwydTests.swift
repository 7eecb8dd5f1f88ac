import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Sign-in, refresh and revocation at an independent OpenID provider. It differs from the
/// standards: it requires a nonce, knows one redirect URI, answers `bearer`, refuses without an
/// error code, and lets a public client revoke only with an access token.
@Suite(
  "Interoperability with glewlwyd, a real OpenID provider", .mayBlock, .timeLimit(.minutes(10)),
  .serialized, .withGlewlwyd,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct GlewlwydTests {
  let peer: GlewlwydUnderTest
  let daemon: DaemonUnderTest

  init() throws {
    peer = try WithGlewlwyd.peer
    daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n" + peer.provider("work")
        + peer.provider("short", plugin: "oidcshort")
        + peer.provider("secret", credential: "work-secret"))
  }

  @Test(
    "a glewlwyd token is issued in a browser, refreshed, kept over kill -9 and finally revoked",
    .ownProcess)
  func wholeStory() throws {
    var client = try daemon.client()
    let check = try daemon.admin().call("provider.check", ["provider": "work"])
    // The provider "short" has another issuer and the same redirect address, and glewlwyd does not
    // name itself in its answers.
    let unfine = check["findings"]?.arrayValue?.filter { $0["fine"] != true } ?? []
    #expect(unfine.map { $0["subject"] } == ["redirect"])

    let (flow, page) = try client.signIn("work", at: .glewlwyd)
    // On a busy machine, the browser gets the other page after five seconds.
    #expect(["Signed in", "Almost done"].contains(page.title))
    #expect(page.url == peer.redirect)
    #expect(flow["status"] == "succeeded")
    let account = try client.call("account.list", ["provider": "work"])["accounts"]?.arrayValue?[0]
    #expect(account?["label"] == "Alice Test")
    #expect(account?["profile"]?["email"] == "alice@example.test")

    let first = try client.accessToken("work")
    let said = try peer.introspect(first)
    #expect(said["active"] == true)
    #expect(said["username"] == "alice")
    #expect(said["client_id"] == "usher-public")
    #expect(try client.accessToken("work") == first)
    let second = try client.accessToken("work", forced: true)
    #expect(second != first)
    #expect(try peer.isActive(second))
    #expect(try peer.livingRefreshTokens() == 1)

    try daemon.restart()
    client = try daemon.client()
    #expect(try client.accessToken("work") == second)
    let third = try client.accessToken("work", forced: true)
    #expect(third != second)

    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
    #expect(try !peer.isActive(third))
    #expect(try peer.livingRefreshTokens() == 0)
    #expect(try client.reason(of: "token.get", ["provider": "work"]) == "interaction_required")
  }

  @Test(
    "glewlwyd tokens of two seconds are refreshed repeatedly, and revoked after they have expired")
  func shortLives() throws {
    let client = try daemon.client()
    #expect(try client.signIn("short", at: .glewlwyd).end["status"] == "succeeded")
    var seen = [try client.accessToken("short")]
    for _ in 0..<2 {
      // A token that has expired before glewlwyd is asked about it is refreshed once more.
      try eventually("the daemon returns a refreshed token, which glewlwyd accepts") {
        let token = try client.accessToken("short")
        guard token != seen.last else { return false }
        seen.append(token)
        return try peer.isActive(token, plugin: "oidcshort")
      }
    }
    #expect(Set(seen).count == seen.count)
    #expect(try peer.livingRefreshTokens() == 1)

    try eventually("the last token has expired") {
      try !peer.isActive(seen.last ?? "", plugin: "oidcshort")
    }
    #expect(try client.call("account.forget", ["provider": "short"])["revoked"] == "done")
    #expect(try peer.livingRefreshTokens() == 0)
  }

  @Test(
    "a grant that glewlwyd ended without an error code needs a new sign-in, which keeps the account"
  )
  func endedGrant() throws {
    let client = try daemon.client()
    #expect(try client.signIn("short", at: .glewlwyd).end["status"] == "succeeded")
    let account = try client.call("token.get", ["provider": "short"])["account"] ?? .null
    try peer.endAllGrants()
    var error: JSONValue?
    try eventually("token.get fails after the last token has expired") {
      error = try client.reply(to: "token.get", ["account": account])["error"]
      return error != nil
    }
    #expect(error?["data"]?["reason"] == "reauthentication_required")
    // The provider is not asked at each call of the app.
    let refusals = daemon.log.components(separatedBy: #"call=token outcome="status 400""#).count - 1
    #expect((1...4).contains(refusals))
    let next = error?["data"]?["next"]
    #expect(next?["method"] == "flow.start")
    #expect(next?["params"]?["provider"] == "short")
    #expect(next?["params"]?["params"]?["account"] == account)

    let again = try client.signIn(
      "short", at: .glewlwyd, params: next?["params"]?["params"] ?? .null)
    #expect(again.end["status"] == "succeeded")
    try eventually("the daemon returns a token that glewlwyd accepts") {
      let mended = try client.call("token.get", ["account": account])["accessToken"]?.stringValue
      return try peer.isActive(mended ?? "", plugin: "oidcshort")
    }
    #expect(try client.call("account.forget", ["account": account])["revoked"] == "done")
  }

  @Test("a glewlwyd client with a secret signs in, refreshes and revokes")
  func confidentialClient() throws {
    _ = try daemon.admin().call(
      "credential.set", ["name": "work-secret", "value": "s3cret-s3cret"])
    let client = try daemon.client()
    #expect(try client.signIn("secret", at: .glewlwyd).end["status"] == "succeeded")
    let first = try client.accessToken("secret")
    #expect(try peer.introspect(first)["client_id"] == "usher-secret")
    let second = try client.accessToken("secret", forced: true)
    #expect(second != first)
    #expect(try client.call("account.forget", ["provider": "secret"])["revoked"] == "done")
    #expect(try !peer.isActive(second))
    #expect(try peer.livingRefreshTokens() == 0)
  }

  @Test("a device flow at glewlwyd signs in, refreshes and revokes")
  func device() throws {
    let client = try daemon.client()
    let (flow, page) = try client.signInOnDevice("work", at: .glewlwyd)
    #expect(flow["status"] == "succeeded")
    #expect(page.url.hasSuffix("/login.html"))
    let first = try client.accessToken("work")
    #expect(try peer.introspect(first)["username"] == "alice")
    #expect(try client.accessToken("work", forced: true) != first, "\(daemon.log)")
    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
    #expect(try peer.livingRefreshTokens() == 0)
  }
}
