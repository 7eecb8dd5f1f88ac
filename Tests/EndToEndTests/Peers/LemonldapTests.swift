import JSONRPC
import Testing
import UsherTestKit

/// Debian's lemonldap-ng, a portal of companies and universities. It differs from the standards: it
/// answers an unknown address with 401 and a page, gives refresh tokens without `offline_access`,
/// issues opaque tokens, and can revoke none.
@Suite(
  "Interoperability with lemonldap-ng, a real OpenID provider", .mayBlock,
  .timeLimit(.minutes(10)), .serialized, .withPeerServer(.lemonldap),
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct LemonldapTests {
  let server: PeerServer
  let daemon: DaemonUnderTest

  init() throws {
    server = try WithPeerServer.server
    daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n"
        + server.provider("public", client: "usher-public")
        + server.provider(
          "secret", client: "usher-secret", more: "client_credential = \"work-secret\""))
    try daemon.setCredential("work-secret", "s3cret-s3cret")
  }

  @Test(
    "a lemonldap-ng sign-in succeeds, and its tokens are accepted, refreshed and kept over kill -9",
    .ownProcess, arguments: ["public", "secret"])
  func wholeStory(provider: String) throws {
    let check = try daemon.admin().call("provider.check", ["provider": .string(provider)])
    #expect(check["healthy"] == true)
    var client = try daemon.client()
    let (flow, page) = try client.signIn(provider) { try server.visit($0) }
    #expect(flow["status"] == "succeeded" && page.url == server.redirect)
    let account = try client.call("account.list", ["provider": .string(provider)])["accounts"]?[0]
    #expect(account?["subject"] == "dwho" && account?["label"] == "Doctor Who")

    let first = try client.accessToken(provider)
    #expect(try server.userinfo(first) == 200)
    try daemon.restart()
    client = try daemon.client()
    let second = try client.accessToken(provider, forced: true)
    #expect(second != first)
    #expect(try server.userinfo(second) == 200)
    // The provider has no revocation endpoint, so the tokens live on, and the daemon says so.
    let forgotten = try client.call("account.forget", ["provider": .string(provider)])
    #expect(forgotten["revoked"] == "skipped")
    #expect(forgotten["living"]?.arrayValue?.map { $0["why"] } == ["unsupported", "unsupported"])
  }

  @Test("the end of a session at lemonldap-ng signs the browser out, and ends the refresh token")
  func endSession() throws {
    let client = try daemon.client()
    let visit = { (url: String) in try server.visit(url, with: "browser") }
    #expect(try client.signIn("secret", visit: visit).end["status"] == "succeeded")
    let (flow, page) = try client.signIn("secret", "endSession", visit: visit)
    #expect(flow["status"] == "succeeded" && page.url == server.redirect)
    // A refresh token without offline_access belongs to the session.
    let reason = try client.reason(
      of: "token.get", ["provider": "secret", "forceRefresh": true])
    #expect(reason == "reauthentication_required")
  }
}
