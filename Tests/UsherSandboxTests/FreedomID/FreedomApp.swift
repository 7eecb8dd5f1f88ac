import Foundation
import Synchronization
import Testing

@testable import UsherSandbox

/// The Freedom ID fake without HTTP, with helpers that act as the app, the partner and users.
struct FreedomApp {
  typealias Answer = GoPayApp.Answer

  static let device = "5f0c1a52-7a5e-4e61-9a77-0d9f1f6f1c11"
  static let phone = "+447700900123"
  static let redirect = "http://127.0.0.1:5555/callback/0123456789abcdef0123456789abcdef"
  static let app = ["x-api-key": "s3cret:freedom/api-key", "x-device-id": device]
  /// The Basic credentials of the partner API, joined without encoding.
  static let basic = "Basic " + Data("acme:s3cret:freedom/client+=".utf8).base64EncodedString()
  /// The Basic credentials of OpenID, form-encoded (RFC 6749 section 2.3.1).
  static let openIDBasic =
    "Basic " + Data("acme:s3cret%3Afreedom%2Fclient%2B%3D".utf8).base64EncodedString()

  let context: BackendContext
  let freedom: FreedomIDBackend
  let clock: SandboxClock
  let partner = PartnerEnd()

  init() throws {
    clock = SandboxClock { start }
    context = try BackendContext.test(clock)
    let partner = partner
    freedom = FreedomIDBackend(context) { url, headers, body in partner.take(url, headers, body) }
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  /// Returns the endpoint for a path, and the path's parameters. A literal path is preferred to one
  /// with placeholders.
  private func row(
    _ method: Endpoint.Method, _ path: String
  ) throws -> (Endpoint, [String: String]) {
    let wanted = path.split(separator: "/")
    let rows = (freedom.endpoints + freedom.controls).filter { $0.method == method }
    for row in rows.filter({ $0.path == path }) + rows {
      let segments = row.path.split(separator: "/")
      let fits = zip(segments, wanted).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
      guard segments.count == wanted.count, fits else { continue }
      let places = zip(segments, wanted).filter { $0.0.hasPrefix("{") }
        .map { (String($0.dropFirst().dropLast()), String($1)) }
      return (row, Dictionary(uniqueKeysWithValues: places))
    }
    throw GoPayApp.AppError(description: "there is no row for \(method.rawValue) \(path)")
  }

  func send(
    _ method: Endpoint.Method, _ path: String, headers: [String: String] = [:],
    body: [UInt8]? = nil, type: String = "application/json"
  ) async throws -> Answer {
    let parts = path.split(separator: "?", maxSplits: 1)
    let (row, parameters) = try row(method, String(parts[0]))
    var call = EndpointCall(method, String(parts[0]), base: "http://127.0.0.1:1")
    call.query = parts.count > 1 ? String(parts[1]) : ""
    call.parameters = parameters
    call.headers = headers
    if let body {
      call.body = body
      call.headers["content-type"] = type
    }
    return Answer(await row.handle(call))
  }

  func control(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil
  ) async throws -> Answer {
    try await send(method, "/_control/freedomid/\(path)", body: json?.encoded())
  }

  func set(_ settings: JSON) async throws {
    let answer = try await control(.post, "settings", settings)
    try #require(answer.status == 200, "\(answer.json)")
  }

  func list(_ path: String) async throws -> [JSON] {
    guard case .array(let list)? = try await control(.get, path).json[path] else {
      throw GoPayApp.AppError(description: "no \(path)")
    }
    return list
  }

  /// Returns the Freedom ID of a user.
  func id(_ username: String) async throws -> String {
    let person = try await list("people").first { $0["username"]?.text == username }
    return try #require(person?["id"]?.text)
  }

  /// Returns the code in the newest message to an address.
  func code(to address: String = phone) async throws -> String {
    let message = await context.outbox.messages(to: address, provider: "freedomid").first
    return try #require(message?.message.code)
  }
}

// MARK: - The API of the SDK

extension FreedomApp {
  func device(
    _ method: Endpoint.Method, _ path: String, _ body: JSON? = nil,
    headers: [String: String] = app, bearer: String? = nil
  ) async throws -> Answer {
    var headers = headers
    headers["authorization"] = bearer.map { "Bearer \($0)" }
    return try await send(
      method, "/freedomid/api/v1/device/\(path)", headers: headers, body: body?.encoded())
  }

  func password(
    _ password: String = "alice-password", phone: String = phone
  ) async throws -> Answer {
    try await device(
      .post, "login/password", ["phone": .string(phone), "password": .string(password)])
  }

  /// Starts a log-in by SMS and returns the challenge id.
  func otp(_ phone: String = phone) async throws -> String {
    let answer = try await device(.post, "login/otp", ["phone": .string(phone)])
    return try #require(answer.json["challenge_id"]?.text, "\(answer.json)")
  }

  func verify(
    _ challenge: String, _ code: String, _ path: String = "login/otp/verify"
  ) async throws -> Answer {
    try await device(
      .post, path, ["challenge_id": .string(challenge), "code": .string(code)])
  }

  /// The access and refresh token of a tied device or of the partner.
  struct Tied {
    let access: String
    let refresh: String
  }

  func tied() async throws -> Tied {
    let json = try await password().json
    return Tied(
      access: try #require(json["access_token"]?.text, "\(json)"),
      refresh: try #require(json["refresh_token"]?.text))
  }

  func consent(
    _ tied: Tied, _ grants: JSON, request: String = "0f8fad5b-d9cb-469f-a165-70867728950e"
  ) async throws -> Answer {
    try await device(
      .post, "consent", ["request_id": .string(request), "grants": grants], bearer: tied.access)
  }
}

// MARK: - The partner API and the pages

extension FreedomApp {
  func partner(
    _ method: Endpoint.Method, _ path: String, _ body: JSON? = nil, authorization: String = basic
  ) async throws -> Answer {
    try await send(
      method, "/freedomid/api/v1/oauth/\(path)", headers: ["authorization": authorization],
      body: body?.encoded())
  }

  /// Issues partner tokens through the control API, without a log-in page.
  func partnerTokens(_ username: String = "alice", _ grants: JSON? = nil) async throws -> Tied {
    var body: [String: JSON] = ["username": .string(username)]
    body["grants"] = grants
    let json = try await control(.post, "tokens", .object(body)).json
    return Tied(
      access: try #require(json["access_token"]?.text, "\(json)"),
      refresh: try #require(json["refresh_token"]?.text))
  }

  /// Creates a log-in link and returns the path of its page.
  func link(
    _ grants: JSON = ["read.firstname", "read.phone"], to redirect: String = redirect
  ) async throws -> String {
    let answer = try await partner(
      .post, "authorize", ["redirect_uri": .string(redirect), "grants": grants])
    let link = try #require(answer.json["redirect_uri"]?.text, "\(answer.json)")
    try #require(link.hasPrefix("http://127.0.0.1:1/freedomid/login?track_id="))
    return String(link.dropFirst("http://127.0.0.1:1".count))
  }

  /// Submits the form of a page.
  func type(
    _ fields: [String: String], on page: Answer, to path: String = "login"
  ) async throws -> Answer {
    let form = fields.merging([
      "transaction": try page.field("transaction"), "csrf": try page.field("csrf"),
    ]) { own, _ in own }
    let text = form.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    return try await send(
      .post, "/freedomid/\(path)", body: Array(text.utf8),
      type: "application/x-www-form-urlencoded")
  }

  /// Signs in on the page at a path and returns the next page.
  func signedIn(
    _ path: String, _ name: String = phone, _ password: String = "alice-password"
  ) async throws -> Answer {
    try await type(["name": name, "password": password], on: try await send(.get, path))
  }

  func redeem(_ code: String?) async throws -> Answer {
    try await partner(.post, "token", ["authorization_code": .string(code ?? "")])
  }

  func openIDToken(_ body: JSON, authorization: String = openIDBasic) async throws -> Answer {
    try await send(
      .post, "/freedomid/api/v1/oidc/token", headers: ["authorization": authorization],
      body: body.encoded())
  }
}

extension GoPayApp.Answer {
  /// The error code of a Freedom ID refusal.
  var freedomCode: JSON? { json["error"]?["code"] }
  var freedomErrors: JSON? { json["error"]?["errors"] }
}
