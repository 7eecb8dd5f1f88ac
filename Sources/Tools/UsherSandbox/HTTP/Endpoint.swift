/// A request as a handler sees it.
package struct Call: Sendable {
  package var method: Endpoint.Method
  package var path: String
  /// Without the question mark, still encoded.
  package var query = ""
  /// By lower-case name.
  package var headers: [String: String] = [:]
  package var body: [UInt8] = []
  /// `http://127.0.0.1:PORT`: where this sandbox is.
  package var base: String
  /// What stood in the path for each `{name}`, decoded.
  package var parameters: [String: String] = [:]

  package init(_ method: Endpoint.Method, _ path: String, base: String) {
    self.method = method
    self.path = path
    self.base = base
  }

  /// What stood in the path for `{id}`.
  package var id: String? { parameters["id"] }

  /// The media type without its parameters, in lower case.
  package var contentType: String? {
    headers["content-type"]?.split(separator: ";").first.map {
      $0.lowercased().filter { $0 != " " }
    }
  }
}

/// What a handler answers.
package struct Reply: Sendable, Equatable {
  package var status: Int
  package var headers: [String: String]
  package var body: [UInt8]
  /// The OAuth error it carries, for the request log.
  package var error: String?

  package init(
    status: Int, headers: [String: String] = [:], body: [UInt8] = [], error: String? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.error = error
  }

  package static func json(_ value: JSON, status: Int = 200, error: String? = nil) -> Reply {
    Reply(
      status: status,
      headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      body: value.encoded(), error: error)
  }

  /// An error as RFC 6749 §5.2 writes it. The description names what was wrong, never a secret.
  package static func refusal(_ error: String, _ description: String, status: Int = 400) -> Reply {
    .json(
      ["error": .string(error), "error_description": .string(description)],
      status: status, error: error)
  }

  /// 303, so that a form's body is not sent along (RFC 9700 §4.12).
  package static func redirect(to location: String, error: String? = nil) -> Reply {
    Reply(
      status: 303, headers: ["Location": location, "Cache-Control": "no-store"], error: error)
  }
}

extension Reply {
  /// 303 to an address with more parameters in its query.
  package static func redirect(
    to address: String, adding parameters: [String: JSON], error: String? = nil
  ) -> Reply {
    let query =
      parameters.sorted { $0.key < $1.key }
      .map { "\(PercentEncoding.encoded($0.key))=\(PercentEncoding.encoded($0.value.plain))" }
      .joined(separator: "&")
    return .redirect(to: address + (address.contains("?") ? "&" : "?") + query, error: error)
  }
}

extension JSON {
  /// As a query parameter writes it.
  fileprivate var plain: String { text ?? String(decoding: encoded(), as: UTF8.self) }
}

/// One thing a backend answers: a row of its table.
package struct Endpoint: Sendable {
  package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// What the request log and the faults call it; several rows may share a name.
  package var name: String
  package var method: Method
  /// Exact, but for segments `{name}`, each of which takes any one segment.
  package var path: String
  /// Whether a segment `{name}` is a secret: then the request log has the path as it stands here.
  package var hidesPath = false
  package var handle: @Sendable (Call) async -> Reply

  package init(
    _ name: String, _ method: Method, _ path: String,
    handle: @escaping @Sendable (Call) async -> Reply
  ) {
    self.name = name
    self.method = method
    self.path = path
    self.handle = handle
  }
}
