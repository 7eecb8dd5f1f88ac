/// A request, as its handler receives it.
package struct EndpointCall: Sendable {
  package var method: Endpoint.Method
  package var path: String
  /// The percent-encoded query, without the question mark.
  package var query = ""
  /// The headers by lower-case name.
  package var headers: [String: String] = [:]
  package var body: [UInt8] = []
  /// The base URL of this sandbox, `http://127.0.0.1:PORT`.
  package var base: String
  /// The base URL of the listener that has accepted the connection; another one for TLS.
  package var listener: String
  /// The decoded path segment for each `{name}` of the endpoint's path.
  package var parameters: [String: String] = [:]
  /// The certificate that the client has presented; nil if it has presented none.
  package var certificate: PresentedCertificate?

  package init(_ method: Endpoint.Method, _ path: String, base: String) {
    self.method = method
    self.path = path
    self.base = base
    listener = base
  }

  /// The path segment for `{id}`.
  package var id: String? { parameters["id"] }

  /// The media type without its parameters, in lower case.
  package var contentType: String? {
    headers["content-type"]?.split(separator: ";").first.map {
      $0.lowercased().filter { $0 != " " }
    }
  }

  /// The token in the `Authorization` header, if its scheme is `Bearer`.
  var bearer: String? { headers["authorization"]?.afterBearer }

  /// The token in the `Authorization` header, if its scheme is `DPoP` (RFC 9449 §7.1).
  var dpopToken: String? { headers["authorization"]?.after(scheme: "dpop") }
}

extension String {
  /// The text after the scheme `Bearer`, whose case does not matter (RFC 7235 §2.1); nil if the
  /// text does not begin with it.
  var afterBearer: String? { after(scheme: "bearer") }

  /// The text after a scheme in lower case and a space; nil if the text does not begin with them.
  fileprivate func after(scheme: String) -> String? {
    let start = scheme + " "
    guard prefix(start.count).lowercased() == start else { return nil }
    return String(dropFirst(start.count).drop { $0 == " " })
  }
}

/// The response of a handler.
package struct Reply: Sendable, Equatable {
  package var status: Int
  package var headers: [String: String]
  package var body: [UInt8]
  /// The OAuth error code of the response, for the request log.
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

  /// Returns an OAuth error (RFC 6749 §5.2). The description names the cause, never a secret.
  package static func refusal(_ error: String, _ description: String, status: Int = 400) -> Reply {
    .json(
      ["error": .string(error), "error_description": .string(description)],
      status: status, error: error)
  }

  /// Returns a 303 redirect. Unlike 307, it does not repeat the body of a form (RFC 9700 §4.12).
  package static func redirect(to location: String, error: String? = nil) -> Reply {
    Reply(
      status: 303, headers: ["Location": location, "Cache-Control": "no-store"], error: error)
  }
}

extension Reply {
  /// Returns a 303 redirect to an address with additional query parameters.
  package static func redirect(
    to address: String, adding parameters: [String: JSON], error: String? = nil
  ) -> Reply {
    let separator = address.contains("?") ? "&" : "?"
    return .redirect(to: address + separator + Form.encoded(parameters), error: error)
  }
}

/// An HTTP endpoint of a backend: a method, a path and a handler.
package struct Endpoint: Sendable {
  package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// The name in the request log and in fault rules. Several endpoints may share a name.
  package var name: String
  package var method: Method
  /// The path. A segment `{name}` matches any one segment; all others must match exactly.
  package var path: String
  /// Whether a `{name}` segment is secret. If so, the request log shows only this pattern.
  package var hidesPath = false
  package var handle: @Sendable (EndpointCall) async -> Reply

  package init(
    _ name: String, _ method: Method, _ path: String,
    handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) {
    self.name = name
    self.method = method
    self.path = path
    self.handle = handle
  }
}
