import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A provider from outside the project in a temporary directory; see its script beside this file.
final class PeerServer: Sendable {
  enum Kind: String { case authlib, idpyoidc, lemonldap }

  private let place: TemporaryDirectory
  private let program: RunningProgram
  private let kind: Kind
  let base: String
  /// The only redirect URI that the provider's clients have.
  let redirect: String

  init(_ kind: Kind) throws {
    self.kind = kind
    place = try TemporaryDirectory()
    let port = try LoopbackPort.unused()
    base = "http://127.0.0.1:\(port)"
    redirect = "http://127.0.0.1:\(try LoopbackPort.unused())/callback"
    program = try RunningProgram(
      Peers.python, [Peers.script("\(kind)_server.py"), place.path, "\(port)", redirect],
      log: place.file("out"))
    let metadata =
      switch kind {
      case .authlib: "\(base)/.well-known/oauth-authorization-server/auth"
      case .idpyoidc, .lemonldap: "\(base)/.well-known/openid-configuration"
      }
    try eventually("\(kind) listens: \(program.log)") { [program] in
      guard program.isRunning else { throw TestError("\(kind) ended: \(program.log)") }
      return (try? Web.get(metadata))?.status == 200
    }
  }

  func stop() { program.killAtOnce() }

  var issuer: String {
    switch kind {
    case .authlib: "\(base)/auth"
    case .idpyoidc: base
    case .lemonldap: "\(base)/"
    }
  }

  /// Returns a `[[provider]]` table.
  func provider(_ name: String, client: String, more: String = "") -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(issuer)"
    client_id = "\(client)"
    redirect = "\(redirect)"
    \(more)

    """
  }

  /// Has the daemon make the key of a provider's client, and registers it at the server.
  func registerKey(of provider: String, at daemon: DaemonUnderTest) throws {
    let keys = try daemon.usherctl(["provider", "jwks", provider, "--create"])
    guard keys.status == 0 else { throw TestError("usherctl failed: \(keys.errors)") }
    try place.write(keys.output, to: "keys.json")
  }

  /// Signs the server's user in, allows everything, and returns the last page.
  ///
  /// - Parameter browser: The name of a browser that keeps its cookies; nil for a new one.
  func visit(_ url: String, with browser: String? = nil) throws -> Browser.Page {
    let (user, password) = kind == .lemonldap ? ("dwho", "dwho") : ("alice", "alice-password")
    return try Browser.page(
      from: [Peers.script("person.py"), url, user, password]
        + (browser.map { [place.file($0)] } ?? []))
  }

  /// Returns the status of the userinfo endpoint's reply.
  func userinfo(_ accessToken: String) throws -> Int {
    let path = kind == .lemonldap ? "\(base)/oauth2" : issuer
    return try Web.send(
      "GET", "\(path)/userinfo", headers: ["Authorization": "Bearer \(accessToken)"]
    ).status
  }
}

/// One server for all tests of a suite, stopped at its end.
struct WithPeerServer: SuiteTrait, TestScoping {
  @TaskLocal private static var current: PeerServer?
  let kind: PeerServer.Kind

  static var server: PeerServer {
    get throws { try #require(current, "the suite lacks the trait .withPeerServer") }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let server = try PeerServer(kind)
    defer { server.stop() }
    try await Self.$current.withValue(server) { try await function() }
  }
}

extension Trait where Self == WithPeerServer {
  static func withPeerServer(_ kind: PeerServer.Kind) -> Self { Self(kind: kind) }
}
