import JSONRPC
import UsherCore
import UsherFlows

/// A request of the daemon to a provider, as the checks read it.
struct WireRequest: Sendable {
  let method: String
  /// The path below ``SandboxHost/base``.
  let path: String
  /// The values by lower-case name.
  let headers: [String: String]
  let query: [String: String]
  private let form: [String: String]
  /// The JSON of the body; null if it is none.
  let body: JSONValue

  init(_ request: HTTPRequest) {
    method = request.method.rawValue
    let parts = request.url.dropFirst(SandboxHost.base.count).split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts.first ?? "")
    query = Self.fields(of: parts.count > 1 ? String(parts[1]) : "")
    var headers: [String: String] = [:]
    for header in request.headers { headers[header.name.lowercased()] = header.value.revealed() }
    self.headers = headers
    let text = request.body?.revealed() ?? ""
    let json = text.isEmpty ? nil : try? JSONValue(parsing: text)
    body = json ?? .null
    form = json == nil ? Self.fields(of: text) : [:]
  }

  /// A field of the form, a member of the body or a parameter of the query.
  subscript(name: String) -> String? { form[name] ?? body[name]?.stringValue ?? query[name] }

  /// The token in the header `Authorization`.
  var bearer: String? {
    guard let value = headers["authorization"], value.hasPrefix("Bearer ") else { return nil }
    return String(value.dropFirst("Bearer ".count))
  }

  /// The token in the header `Authorization`, if its scheme is `DPoP` (RFC 9449 §7.1).
  var dpopToken: String? {
    guard let value = headers["authorization"], value.hasPrefix("DPoP ") else { return nil }
    return String(value.dropFirst("DPoP ".count))
  }

  /// The proof that the daemon has a key; nil if the request has none.
  var proof: UnverifiedToken? { headers["dpop"].flatMap { UnverifiedToken($0) } }

  /// The tokens that only one request may carry: the proof, and the assertions.
  var singleUseTokens: [UnverifiedToken] {
    let texts = [headers["dpop"], self["client_assertion"], self["assertion"]]
    return texts.compactMap { $0.flatMap { UnverifiedToken($0) } }
  }

  /// The segments of the path.
  var segments: [String] { path.split(separator: "/").map(String.init) }

  /// Reads a query or a form. The values stay percent-encoded.
  static func fields(of text: String) -> [String: String] {
    Dictionary(
      text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        .map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }
    ) { first, _ in first }
  }
}
