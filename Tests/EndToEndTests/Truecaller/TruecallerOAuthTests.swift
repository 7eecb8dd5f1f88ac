import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The newer OAuth SDK as a provider of type `oidc`, configured by the documentation's lines.
@Suite("Truecaller by OpenID Connect", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerOAuthTests {
  /// Returns the documentation's block, with the sandbox's issuer in place of the vendor's host.
  private func block(issuer: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appending(path: "Sources/UsherDaemon/Usher.docc/Providers/Truecaller.md").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let parts = page.components(separatedBy: "## The newer OAuth SDK: authorize")
    let block = try #require(parts.last?.components(separatedBy: "```").dropFirst().first)
    let host = "https://oauth-account-noneu.truecaller.com"
    #expect(parts.count == 2 && block.hasPrefix("toml\n"))
    #expect(block.components(separatedBy: host).count == 3)
    return block.dropFirst("toml\n".count).replacingOccurrences(of: host, with: issuer)
  }

  /// Puts the vendor's placeholder into `jwks_uri` of the discovery document; the documented lines
  /// override it.
  private func placeholder(_ sandbox: SandboxUnderTest) throws {
    let uri = "\(sandbox.issuer)/.well-known/{clientId}/jwks.json"
    try sandbox.control("POST", "settings", ["discovery": ["jwks_uri": .string(uri)]])
  }

  @Test("Truecaller's documented OIDC lines sign a person in with the promised claims")
  func documented() throws {
    let sandbox = try SandboxUnderTest()
    try placeholder(sandbox)
    let daemon = try DaemonUnderTest(config: try block(issuer: sandbox.issuer))
    let app = try daemon.client()
    let end = try app.signIn("truecaller-oauth")
    let account = try app.call(
      "account.get", ["account": end["result"]?["account"] ?? .null])["account"]
    let profile = account?["profile"]
    #expect(account?["subject"] == "usr_alice")
    #expect(profile?["given_name"] == "Alice" && profile?["family_name"] == "Adams")
    #expect(profile?["phone_number"] == "+447700900123")
    #expect(profile?["phone_number_verified"] == true)
    #expect(profile?["email"] == "alice@example.com")
    #expect(profile?["picture"] == "https://example.com/alice.png")
    #expect(profile?["gender"] == "unspecified")
    #expect(profile?["address"]?["locality"] == "Sandbox")
    let log = try sandbox.control("GET", "requests?endpoint=jwks")["requests"]?.arrayValue ?? []
    #expect(log.map { $0["path"] } == ["/oidc/.well-known/acme-oauth/jwks.json"])
    let token = try app.call("token.get", ["provider": "truecaller-oauth"])
    #expect(token["scope"] == "openid profile phone email address offline_access")
  }

  @Test("without the documented line for the keys, Truecaller's OIDC log-in adds no account")
  func withoutKeys() throws {
    let sandbox = try SandboxUnderTest()
    try placeholder(sandbox)
    let block = try block(issuer: sandbox.issuer)
    let lines = block.components(separatedBy: "\n").filter { !$0.hasPrefix("jwks") }
      // The other test's listener may still hold the documented port.
      .map { $0.hasPrefix("redirect") ? "redirect = \"loopback\"" : $0 }
    let daemon = try DaemonUnderTest(config: lines.joined(separator: "\n"))
    let app = try daemon.client()
    let flow = try app.startFlow("truecaller-oauth")
    if let url = flow["step"]?["url"]?.stringValue { _ = try? Person.signIn(at: url) }
    let end = try app.finished(flow)
    #expect(end["status"] == "failed", "\(end.text)")
    #expect(try app.call("account.list")["accounts"] == [])
  }
}
