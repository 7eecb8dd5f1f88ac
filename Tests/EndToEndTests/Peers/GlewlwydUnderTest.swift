import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Debian's glewlwyd, a real OpenID provider, in a temporary directory; see `glewlwyd.py`.
final class GlewlwydUnderTest: Sendable {
  private let place: TemporaryDirectory
  private let program: RunningProgram
  private let port: Int
  private let api: String
  /// The only redirect URI that glewlwyd accepts; it compares the URI character by character.
  let redirect: String

  init() throws {
    place = try TemporaryDirectory()
    port = try LoopbackPort.unused()
    api = "http://127.0.0.1:\(port)/api"
    redirect = "http://127.0.0.1:\(try LoopbackPort.unused())/callback"
    try Self.script(["prepare", place.path, "\(port)"])
    program = try RunningProgram(
      "/usr/bin/glewlwyd", ["--config-file=\(place.file("glewlwyd.conf"))"],
      log: place.file("out"))
    try eventually("glewlwyd listens: \(program.log)") { [program, port] in
      guard program.isRunning else { throw TestError("glewlwyd ended: \(program.log)") }
      return (try? Web.get("http://127.0.0.1:\(port)/config"))?.status == 200
    }
    try Self.script(["furnish", "\(port)", redirect])
  }

  func stop() { program.killAtOnce() }

  /// Returns a `[[provider]]` table with the client `usher-secret`, whose secret has to be set.
  func provider(
    _ name: String, plugin: String = "oidc", credential: String, more: String = ""
  ) -> String {
    provider(
      name, plugin: plugin, client: "usher-secret",
      more: "client_credential = \"\(credential)\"\n" + more)
  }

  /// Returns a `[[provider]]` table.
  func provider(
    _ name: String, plugin: String = "oidc", client: String = "usher-public", more: String = ""
  ) -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(api)/\(plugin)"
    client_id = "\(client)"
    redirect = "\(redirect)"
    \(more)

    """
  }

  /// Has the daemon make the key of a provider's client, and registers the client with it.
  func register(_ client: String, of provider: String, at daemon: DaemonUnderTest) throws {
    let keys = try daemon.usherctl(["provider", "jwks", provider, "--create"])
    guard keys.status == 0 else { throw TestError("usherctl failed: \(keys.errors)") }
    try Self.script(["register", "\(port)", redirect, client, keys.output])
  }

  /// Signs the user in, and allows everything, without a browser.
  func visit(_ url: String) throws -> Browser.Page {
    try Browser.page(from: [Peers.script("glewlwyd.py"), "visit", url])
  }

  func userinfoURL(plugin: String) -> String { "\(api)/\(plugin)/userinfo" }

  func userinfo(_ headers: [String: String], plugin: String) throws -> Web.Reply {
    try Web.send("GET", userinfoURL(plugin: plugin), headers: headers)
  }

  /// Returns the introspection reply for a token (RFC 7662).
  func introspect(_ token: String, plugin: String = "oidc") throws -> JSONValue {
    let secret = Data("usher-secret:s3cret-s3cret".utf8).base64EncodedString()
    let reply = try Web.send(
      "POST", "\(api)/\(plugin)/introspect", body: Array("token=\(token)".utf8),
      type: "application/x-www-form-urlencoded", headers: ["Authorization": "Basic \(secret)"])
    guard reply.status == 200 else {
      throw TestError("the introspection endpoint answered \(reply.status)")
    }
    return try JSONValue(parsing: reply.body)
  }

  func isActive(_ token: String, plugin: String = "oidc") throws -> Bool {
    try introspect(token, plugin: plugin)["active"] == true
  }

  /// Returns the number of enabled refresh tokens in glewlwyd's database.
  func livingRefreshTokens() throws -> Int {
    Int(try query("select count(*) from gpo_refresh_token where gpor_enabled = 1")) ?? -1
  }

  /// Disables all refresh tokens, as if the person withdrew the grant at the provider.
  func endAllGrants() throws {
    _ = try query("update gpo_refresh_token set gpor_enabled = 0")
  }

  private func query(_ text: String) throws -> String {
    let asked = try run(
      "/usr/bin/sqlite3", ["-cmd", ".timeout 5000", place.file("glewlwyd.db"), text])
    guard asked.status == 0 else { throw TestError("sqlite3 failed: \(asked.errors)") }
    return asked.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func script(_ arguments: [String]) throws {
    let done = try run(Peers.python, [Peers.script("glewlwyd.py")] + arguments)
    guard done.status == 0 else {
      throw TestError("glewlwyd.py failed: \(done.output)\(done.errors)")
    }
  }
}

/// One glewlwyd for all tests of a suite, stopped at its end.
struct WithGlewlwyd: SuiteTrait, TestScoping {
  @TaskLocal private static var current: GlewlwydUnderTest?

  static var peer: GlewlwydUnderTest {
    get throws { try #require(current, "the suite lacks the trait .withGlewlwyd") }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let peer = try GlewlwydUnderTest()
    defer { peer.stop() }
    try await Self.$current.withValue(peer) { try await function() }
  }
}

extension Trait where Self == WithGlewlwyd {
  static var withGlewlwyd: Self { Self() }
}
