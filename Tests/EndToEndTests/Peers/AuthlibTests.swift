import JSONRPC
import Testing
import UsherTestKit

/// An authorization server of the library Authlib, with metadata at the address of RFC 8414 only,
/// and clients that authenticate themselves with a key.
@Suite(
  "Interoperability with Authlib, a real authorization server", .mayBlock,
  .timeLimit(.minutes(10)), .serialized, .withPeerServer(.authlib),
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct AuthlibTests {
  let server: PeerServer
  let daemon: DaemonUnderTest

  init() throws {
    server = try WithPeerServer.server
    daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n"
        + server.provider(
          "work", client: "usher-jwt",
          more: "client_credential = \"work-key\"\nclient_credentials_grant = true"))
    try server.registerKey(of: "work", at: daemon)
  }

  @Test("an Authlib client with a key signs in, refreshes and revokes")
  func authorizationCode() throws {
    let client = try daemon.client()
    let (flow, page) = try client.signIn("work") { try server.visit($0) }
    #expect(flow["status"] == "succeeded" && page.url == server.redirect)
    let account = try client.call("account.list", ["provider": "work"])["accounts"]?[0]
    #expect(account?["subject"] == "alice" && account?["label"] == "Alice Test")
    let first = try client.accessToken("work")
    #expect(try server.userinfo(first) == 200)
    let second = try client.accessToken("work", forced: true)
    #expect(try server.userinfo(first) == 401)
    #expect(try server.userinfo(second) == 200)
    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
    #expect(try server.userinfo(second) == 401)
  }

  @Test("an Authlib client with a key gets a token for itself, and revokes it")
  func clientCredentials() throws {
    let client = try daemon.client()
    let flow = try client.finished(
      client.startFlow("work", "clientCredentials", params: ["scope": "reports"]))
    #expect(flow["status"] == "succeeded")
    let token = try client.call("token.get", ["provider": "work"])
    #expect(token["scope"] == "reports" && token["tokenType"] == "Bearer")
    // The token is known to the server, but not for this endpoint: its scope is another one.
    #expect(try server.userinfo(token["accessToken"]?.stringValue ?? "") == 403)
    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
    #expect(try server.userinfo(token["accessToken"]?.stringValue ?? "") == 401)
  }

  @Test("an Authlib client that must sign its authorization requests signs in")
  func signedRequests() throws {
    let provider = server.provider(
      "signed", client: "usher-jar",
      more: "client_credential = \"work-key\"\nsigned_requests = \"always\"")
    let daemon = try DaemonUnderTest(config: provider)
    try server.registerKey(of: "signed", at: daemon)
    let client = try daemon.client()
    let (flow, page) = try client.signIn("signed") { url in
      #expect(url.contains("request=") && !url.contains("code_challenge"))
      return try server.visit(url)
    }
    #expect(flow["status"] == "succeeded" && page.url == server.redirect)
    #expect(try server.userinfo(client.accessToken("signed")) == 200)
  }
}
