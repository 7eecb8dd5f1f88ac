import Foundation
import Testing

@testable import UsherSandbox

/// A fake OAuth 2.0 server without HTTP, with helpers that act as the app and the person.
struct OAuth2App {
  let server: any OAuth2Backend
  let clock = SandboxClock { start }

  init(_ make: (BackendContext) -> any OAuth2Backend) throws {
    server = make(try BackendContext.test(clock))
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  /// Calls the endpoint of a path. A path segment with braces in the endpoint matches any text.
  func send(
    _ method: Endpoint.Method, _ path: String, query: [String: String] = [:],
    headers: [String: String] = [:], body: [UInt8] = []
  ) async throws -> Reply {
    var call = EndpointCall(method, path, base: "http://127.0.0.1:1")
    call.query = Form.encoded(query.mapValues { .string($0) })
    call.headers = headers
    call.body = body
    for endpoint in server.endpoints + server.controls where endpoint.method == method {
      let parts = zip(endpoint.path.split(separator: "/"), path.split(separator: "/"))
      guard endpoint.path.filter({ $0 == "/" }).count == path.filter({ $0 == "/" }).count,
        parts.allSatisfy({ $0 == $1 || $0.hasPrefix("{") })
      else { continue }
      for (name, value) in parts where name.hasPrefix("{") {
        call.parameters[String(name.dropFirst().dropLast())] = String(value)
      }
      return await endpoint.handle(call)
    }
    throw GoPayApp.AppError(description: "there is no endpoint \(method.rawValue) \(path)")
  }

  func post(
    _ path: String, _ fields: [String: String], headers: [String: String] = [:]
  ) async throws -> Reply {
    try await send(
      .post, path,
      headers: headers.merging(["content-type": "application/x-www-form-urlencoded"]) { own, _ in
        own
      },
      body: Array(Form.encoded(fields.mapValues { .string($0) }).utf8))
  }

  func post(
    _ path: String, json: JSON, type: String = "application/json"
  ) async throws -> Reply {
    try await send(.post, path, headers: ["content-type": type], body: json.encoded())
  }

  func get(_ path: String, token: String?, userAgent: String? = "usherd") async throws -> Reply {
    var headers: [String: String] = [:]
    headers["authorization"] = token.map { "Bearer \($0)" }
    headers["user-agent"] = userAgent
    return try await send(.get, path, headers: headers)
  }

  /// Changes settings by the control call.
  func set(_ settings: JSON) async throws {
    let reply = try await post("/_control\(server.path)/settings", json: settings)
    try #require(reply.status == 200, "\(reply.text)")
  }

  /// Signs in on a page and decides on the page that follows.
  func decide(
    _ decision: String = "allow", on page: Reply, user: String = "alice", userCode: String? = nil
  ) async throws -> Reply {
    var fields = try page.hidden()
    fields.merge(["username": user, "password": "\(user)-password"]) { $1 }
    fields["user_code"] = userCode
    fields = try await post("\(server.path)/login", fields).hidden()
    fields["decision"] = decision
    return try await post("\(server.path)/consent", fields)
  }
}

extension Reply {
  /// The fields of a body that is a form.
  func form() throws -> Form { try Form(parsing: body) }

  /// Whether this is a page that shows an error, not a redirect.
  var isErrorPage: Bool { status == 400 && headers["Location"] == nil }
}

extension JSON {
  var isTrue: Bool { self == .bool(true) }
}
