import JSONRPC
import Testing
import UsherTestKit

/// Pushed authorization requests (RFC 9126) at glewlwyd, and clients with a key. It accepts an
/// assertion of a client for the address of the called endpoint only.
@Suite(
  "Pushed requests and assertions at glewlwyd, a real OpenID provider", .mayBlock,
  .timeLimit(.minutes(10)), .serialized, .withGlewlwyd,
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct GlewlwydRequestTests {
  private static let pushed = "pushed_requests = \"always\"\n"

  let peer: GlewlwydUnderTest
  let daemon: DaemonUnderTest

  init() throws {
    peer = try WithGlewlwyd.peer
    daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n"
        + peer.provider("public", more: Self.pushed)
        + peer.provider("secret", credential: "work-secret", more: Self.pushed)
        + peer.provider(
          "key", client: "usher-key",
          more: Self.pushed + """
            client_credential = "work-key"
            client_assertion_audience = "endpoint"
            """))
    try daemon.setCredential("work-secret", "s3cret-s3cret")
  }

  @Test(
    "a pushed request of each kind of client signs in at glewlwyd, and tokens are revoked",
    arguments: ["public", "secret", "key"])
  func pushedRequests(provider: String) throws {
    if provider == "key" { try peer.register("usher-key", of: provider, at: daemon) }
    let client = try daemon.client()
    let (flow, page) = try client.signIn(provider) { url in
      #expect(url.contains("request_uri=") && !url.contains("code_challenge"))
      return try peer.visit(url)
    }
    #expect(flow["status"] == "succeeded" && page.url == peer.redirect)
    let first = try client.accessToken(provider)
    #expect(try peer.introspect(first)["client_id"]?.stringValue == "usher-\(provider)")
    let second = try client.accessToken(provider, forced: true)
    #expect(second != first)
    let forgotten = try client.call("account.forget", ["provider": .string(provider)])
    #expect(forgotten["revoked"] == "done")
    #expect(try !peer.isActive(second))
    #expect(try peer.livingRefreshTokens() == 0)
  }

  @Test("a token that is bound to the daemon's key serves at glewlwyd with a proof and its nonce")
  func boundToken() throws {
    let daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n"
        + peer.provider(
          "bound", plugin: "oidcnonce", credential: "work-secret", more: "dpop = true"))
    try daemon.setCredential("work-secret", "s3cret-s3cret")
    let client = try daemon.client()
    #expect(try client.signIn("bound") { try peer.visit($0) }.end["status"] == "succeeded")
    let first = try client.call("token.get", ["provider": "bound"])
    #expect(first["tokenType"] == "DPoP")
    let bearer = "Bearer \(first["accessToken"]?.stringValue ?? "")"
    #expect(try peer.userinfo(["Authorization": bearer], plugin: "oidcnonce").status >= 400)

    /// Returns the headers with which a program sends its request.
    func headers(nonce: String?) throws -> [String: String] {
      let made = try client.call(
        "token.proof",
        .object(
          [
            "provider": "bound", "method": "GET",
            "url": .string(peer.userinfoURL(plugin: "oidcnonce")),
          ].merging(nonce.map { ["nonce": .string($0)] } ?? [:]) { $1 }))
      return [
        "Authorization": "DPoP \(made["accessToken"]?.stringValue ?? "")",
        "DPoP": made["proof"]?.stringValue ?? "",
      ]
    }
    let challenge = try peer.userinfo(headers(nonce: nil), plugin: "oidcnonce")
    #expect(challenge.status >= 400)
    let nonce = try #require(challenge.headers["dpop-nonce"])
    #expect(try peer.userinfo(headers(nonce: nonce), plugin: "oidcnonce").status == 200)

    #expect(try client.accessToken("bound", forced: true) != first["accessToken"]?.stringValue)
    #expect(try client.call("account.forget", ["provider": "bound"])["revoked"] == "done")
    #expect(try peer.livingRefreshTokens() == 0)
  }
}
