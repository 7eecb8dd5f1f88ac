import Foundation
import JSONRPC
import UsherTestKit

/// The secrets that the daemon and the provider exchanged, by what they are: the name of the form
/// field, JSON member or header, or the way by which the browser carried them.
struct WireSecrets {
  /// The kinds that a run with all grants and methods exchanges.
  static let allKinds: Set<String> = [
    "client_assertion", "assertion", "subject_token", "code", "code_verifier", "refresh_token",
    "auth_req_id", "device_code", "client_secret", "request", "token", "access_token", "id_token",
    "registration_access_token", "DPoP", "Authorization", "redirected code",
    "redirected response", "posted code", "posted response",
  ]

  private(set) var byKind: [String: Set<String>] = [:]

  var all: Set<String> { byKind.values.reduce(into: []) { $0.formUnion($1) } }

  /// Returns the secrets in the exchanges that the sandbox has recorded.
  init(recordedBy sandbox: SandboxUnderTest) throws {
    let exchanges = try sandbox.control("GET", "exchanges")["exchanges"]?.arrayValue ?? []
    for exchange in exchanges { add(exchange) }
  }

  private mutating func add(_ exchange: JSONValue) {
    let (body, reply) = (exchange["body"]?.stringValue ?? "", exchange["reply"]?.stringValue ?? "")
    for (name, value) in Self.fields(of: body) { add(name, value) }
    for text in [body, reply] {
      let members = (try? JSONValue(parsing: text))?.objectValue ?? [:]
      for (name, value) in members { add(name, value.stringValue) }
    }
    add("DPoP", exchange["proof"]?.stringValue)
    let header = exchange["authorization"]?.stringValue?.split(separator: " ", maxSplits: 1)
    add("Authorization", header?.last.map { String($0) })
    let query = exchange["location"]?.stringValue.flatMap { URLComponents(string: $0)?.query }
    for (name, value) in Self.fields(of: query ?? "") { add("redirected \(name)", value) }
    for match in reply.matches(of: /type="hidden" name="(code|response)" value="([^"]*)"/) {
      add("posted \(match.1)", String(match.2))
    }
  }

  private mutating func add(_ kind: String, _ text: String?) {
    // Shorter texts occur by chance.
    guard let text, text.count >= 16, Self.allKinds.contains(kind) else { return }
    byKind[kind, default: []].insert(text)
  }

  private static func fields(of form: String) -> [(String, String)] {
    form.split(separator: "&").compactMap { field in
      let parts = field.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      let value = parts[1].replacing("+", with: " ")
      return (String(parts[0]), String(value).removingPercentEncoding ?? String(value))
    }
  }
}

/// Private keys on P-256 in PEM (RFC 5958).
enum PrivateKeyText {
  /// The whole lines of the first key in a text.
  static func lines(in pem: String) -> [String] {
    body(of: pem).split(separator: "\n").map { String($0) }.filter { $0.count == 64 }
  }

  /// Returns the bytes with which each key begins: version, algorithm, curve and the header of the
  /// number. By them a key is found that nobody knows, such as one that the daemon makes for DPoP.
  static func start(in pem: String) throws -> Data {
    guard let bytes = Data(base64Encoded: body(of: pem).filter { !$0.isNewline }),
      bytes.count == 138
    else { throw TestError("the text has no key on P-256") }
    return bytes.prefix(36)
  }

  private static func body(of pem: String) -> String {
    pem.components(separatedBy: "-----").dropFirst(2).first ?? ""
  }
}
