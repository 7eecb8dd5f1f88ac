import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// An OpenID provider of the library idpyoidc, which federations of universities use. It accepts an
/// assertion of a client for the address of the called endpoint only.
@Suite(
  "Interoperability with idpyoidc, a real OpenID provider", .mayBlock,
  .timeLimit(.minutes(10)), .serialized, .withPeerServer(.idpyoidc),
  .enabled(
    if: Peers.areHere, "SKIPPED, NOT PROVEN: run Packaging/install-dependencies test first"))
struct IdpyOIDCTests {
  private static let key =
    "client_credential = \"work-key\"\nclient_assertion_audience = \"endpoint\"\n"

  let server: PeerServer
  let daemon: DaemonUnderTest

  init() throws {
    server = try WithPeerServer.server
    daemon = try DaemonUnderTest(
      config: "[limits]\nforce_refresh_seconds = 1\n"
        + server.provider("work", client: "usher-jwt", more: Self.key))
    try server.registerKey(of: "work", at: daemon)
  }

  @Test("an idpyoidc client with a key signs in, refreshes and revokes")
  func wholeStory() throws {
    let client = try daemon.client()
    let (flow, page) = try client.signIn("work") { try server.visit($0) }
    #expect(flow["status"] == "succeeded" && page.url == server.redirect)
    let account = try client.call("account.list", ["provider": "work"])["accounts"]?[0]
    #expect(account?["label"] == "Alice Test")
    let first = try client.accessToken("work")
    #expect(try server.userinfo(first) == 200)
    let second = try client.accessToken("work", forced: true)
    #expect(second != first)
    #expect(try server.userinfo(second) == 200)
    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
    #expect(try server.userinfo(second) != 200)
  }

  @Test("idpyoidc exchanges the account's token for one for an audience, and the first is kept")
  func tokenExchange() throws {
    let audience = "https://api.example.test"
    let daemon = try DaemonUnderTest(
      config: server.provider(
        "work", client: "usher-jwt",
        more: Self.key + "audience_parameter = \"audience\"\ntoken_exchange = true"))
    try server.registerKey(of: "work", at: daemon)
    let client = try daemon.client()
    #expect(try client.signIn("work") { try server.visit($0) }.end["status"] == "succeeded")
    let own = try client.accessToken("work")
    let exchanged = try client.call(
      "token.get", ["provider": "work", "audience": .string(audience)])
    let token = exchanged["accessToken"]?.stringValue ?? ""
    #expect(token != own)
    #expect(try Self.claims(of: token)["aud"] == [.string(audience)])
    #expect(try client.accessToken("work") == own)
    #expect(try client.call("account.forget", ["provider": "work"])["revoked"] == "done")
  }

  /// Returns the payload of a JWT, whose signature is not verified.
  private static func claims(of token: String) throws -> JSONValue {
    let part = String(token.split(separator: ".").dropFirst().first ?? "")
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    while text.count % 4 != 0 { text += "=" }
    return try JSONValue(parsing: Array(try #require(Data(base64Encoded: text))))
  }
}
