import Foundation
import JSONRPC
import UsherTestKit

/// A provider that marks its secrets and gives faulty answers on demand: `fake_provider.py`.
final class FakeProvider {
  private let place: TemporaryDirectory
  private let program: RunningProgram
  private let base: String

  init(mark: String) throws {
    place = try TemporaryDirectory()
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("fake_provider.py").path
    program = try RunningProgram(
      "/usr/bin/python3", ["-u", script, mark], log: place.file("provider.log"))
    var port: Substring?
    try eventually("the fake provider listens") { [program] in
      try must(program.isRunning, "the fake provider has ended: \(program.log)")
      port = program.log.firstMatch(of: /port (\d+)/)?.1
      return port != nil
    }
    base = "http://127.0.0.1:\(port ?? "0")"
  }

  func config(_ name: String, credential: String) -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(base)"
    client_id = "usher"
    client_credential = "\(credential)"
    scopes = ["openid", "offline_access"]

    """
  }

  /// Makes the next answer of an endpoint faulty.
  func spoil(_ endpoint: String, _ how: String) throws {
    _ = try Web.get("\(base)/_next?\(endpoint)=\(how)")
  }

  /// Returns every secret that the provider has received or sent.
  func secrets() throws -> [String] {
    try JSONValue(parsing: Web.get("\(base)/_secrets").body).arrayValue?
      .compactMap(\.stringValue) ?? []
  }
}

/// A client that records all replies except successful ones of `token.get`.
final class RecordingClient {
  private let client: RawClient
  private(set) var lines: [String] = []

  init(_ client: RawClient) { self.client = client }

  @discardableResult
  func reply(to method: String, _ params: JSONValue) throws -> JSONValue {
    let reply = try client.reply(to: method, params)
    if method != "token.get" || reply["error"] != nil { lines.append(reply.text) }
    return reply
  }

  /// Sends a malformed line, and records the reply.
  func reply(toLine line: String) throws {
    try client.send(line)
    if let reply = try client.receive() { lines.append(reply.text) }
  }

  /// Records notifications until none arrives within 0.2 seconds.
  func collect() {
    while let line = try? client.receive(within: 0.2) { lines.append(line.text) }
  }
}
