import Crypto
import CryptoExtras
import Foundation
import Synchronization
import Testing

@testable import UsherSandbox

/// The GoPay fake without HTTP, with helpers that act as the partner's app, its backend and
/// customers.
struct GoPayApp {
  static let merchant = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"
  static let callback = "http://127.0.0.1:5555/callback"
  static let state = "0123456789abcdef0123456789abcdef"
  static let session = "0f8fad5b-d9cb-469f-a165-70867728950e"
  static let phone = "+447700900123"

  let context: BackendContext
  let gopay: GoPayBackend
  let clock: SandboxClock
  let partner = PartnerEnd()

  init() throws {
    clock = SandboxClock { start }
    context = try BackendContext.test(clock)
    let partner = partner
    gopay = GoPayBackend(context) { url, headers, body in partner.take(url, headers, body) }
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  /// A reply, with its body parsed if it is JSON.
  struct Answer {
    let reply: Reply
    let json: JSON

    init(_ reply: Reply) {
      self.reply = reply
      json = (try? JSON(parsing: reply.body)) ?? .null
    }

    var status: Int { reply.status }
    var html: String { String(decoding: reply.body, as: UTF8.self) }
    var location: String { reply.headers["Location"] ?? "" }
    /// The response code of a SNAP reply.
    var responseCode: String? { json["responseCode"]?.text }
    /// The `data` member of a reply from the identity or capture host.
    var data: JSON? { json["data"] }
    /// The code and cause of each error from the identity or capture host.
    var refusal: [JSON?] {
      guard case .array(let errors)? = json["errors"] else { return [] }
      return errors.flatMap { [$0["code"], $0["cause"]] }
    }

    /// Returns a query parameter of the redirect location.
    func parameter(_ name: String) -> String? {
      URLComponents(string: location)?.queryItems?.first { $0.name == name }?.value
    }

    /// Returns the value of a hidden field of the page.
    func field(_ name: String) throws -> String {
      let tail = try #require(
        html.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().first)
      return String(tail.prefix { $0 != "\"" })
    }
  }

  struct AppError: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter path: The path, with the query if there is one.
  func send(
    _ method: Endpoint.Method, _ path: String, headers: [String: String] = [:],
    body: [UInt8]? = nil, type: String = "application/json"
  ) async throws -> Answer {
    let parts = path.split(separator: "?", maxSplits: 1)
    let (row, parameters) = try (gopay.endpoints + gopay.controls).row(method, String(parts[0]))
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
    try await send(method, "/_control/gopay/\(path)", body: json?.encoded())
  }

  func set(_ settings: JSON) async throws {
    let answer = try await control(.post, "settings", settings)
    try #require(answer.status == 200, "\(answer.json)")
  }
}

extension [Endpoint] {
  /// Returns the endpoint for a path, and the path's parameters. A literal path is preferred to one
  /// with placeholders.
  func row(_ method: Endpoint.Method, _ path: String) throws -> (Endpoint, [String: String]) {
    let wanted = path.split(separator: "/")
    let rows = filter { $0.method == method }
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
}

/// Receives and records the callbacks that the fakes send.
final class PartnerEnd: Sendable {
  struct Taken: Sendable {
    let url: String
    let authorization: String?
    let body: JSON
  }

  private let all = Mutex<[Taken]>([])

  var taken: [Taken] { all.withLock { $0 } }

  func take(_ url: CallbackURL, _ headers: [String: String], _ body: [UInt8]) -> CallbackAnswer {
    let json = (try? JSON(parsing: body)) ?? .null
    all.withLock {
      $0.append(Taken(url: url.text, authorization: headers["authorization"], body: json))
    }
    return .answered(status: 200, body: Array(#"{"success":true}"#.utf8))
  }
}

// MARK: - Identity and capture

extension GoPayApp {
  static let identity = [
    "x-merchant-id": merchant, "request-id": "req-1", "correlation-id": "req-1",
  ]

  static func holding(_ token: String) -> [String: String] {
    identity.merging(["authorization": token]) { $1 }
  }

  func authCode(
    _ token: String = "short-term-linking-token", headers: [String: String]? = nil,
    body: JSON = ["clientId": "acme-sdk", "userCorrelationId": "corr-5678"]
  ) async throws -> Answer {
    try await send(
      .post, "/gopay/identity/gopay-id/sdk/v1/auth-code",
      headers: headers ?? Self.holding(token), body: body.encoded())
  }

  func sessionToken(_ code: String, client: String = "acme-sdk") async throws -> Answer {
    let body: JSON = ["clientId": .string(client), "authCode": .string(code)]
    return try await send(
      .post, "/gopay/identity/gopay-id/sdk/v1/token", headers: Self.identity, body: body.encoded())
  }

  func temporaryToken(
    _ token: String = "long-term-token", headers: [String: String]? = nil
  ) async throws -> Answer {
    try await send(
      .get, "/gopay/identity/forward/gopay-id/identity/v1/gopay-id/token",
      headers: headers ?? Self.holding(token))
  }

  func pull(_ token: String = "long-term-token") async throws -> Answer {
    try await send(
      .get, "/gopay/identity/forward/gopay-id/kyc/inbound/v1/users/submissions/current",
      headers: Self.holding(token))
  }

  static func capturing(_ token: String, requestID: String = "req-1") -> [String: String] {
    [
      "x-merchant-id": merchant, "x-onekyc-token": token, "x-sdk-session-id": session,
      "x-partner-session-id": requestID,
    ]
  }

  func capture(
    _ headers: [String: String], query: String = "submissionType=FULL_KYC&lang=en"
  ) async throws -> Answer {
    try await send(.get, "/gopay/capture/coe/v1/submissions/urls?\(query)", headers: headers)
  }

  func submission(_ id: String, _ headers: [String: String]) async throws -> Answer {
    try await send(.get, "/gopay/capture/coe/v1/submissions/\(id)", headers: headers)
  }

  /// A submission that waits for its photographs.
  struct OpenedCapture {
    let id: String
    /// The path of the capture page.
    let page: String
    let headers: [String: String]
  }

  func open(
    _ token: String = "long-term-token", requestID: String = "req-1", returnURL: String? = nil
  ) async throws -> OpenedCapture {
    let temporary = try #require(try await temporaryToken(token).data?["token"]?.text)
    let headers = Self.capturing(temporary, requestID: requestID)
    let back = returnURL.map { "&returnUrl=\(PercentEncoding.encoded($0))" } ?? ""
    let answer = try await capture(headers, query: "submissionType=FULL_KYC&lang=en\(back)")
    let id = try #require(answer.data?["submissionId"]?.text, "\(answer.json)")
    let url = try #require(answer.data?["url"]?.text)
    return OpenedCapture(
      id: id, page: String(url.dropFirst("http://127.0.0.1:1".count)), headers: headers)
  }

  func press(_ action: String, on page: String) async throws -> Answer {
    try await send(
      .post, page, body: Array("action=\(action)".utf8),
      type: "application/x-www-form-urlencoded")
  }

  /// Opens a submission and hands it in through the control API.
  func handedIn(
    _ token: String = "long-term-token", requestID: String = "req-1"
  ) async throws -> OpenedCapture {
    let opened = try await open(token, requestID: requestID)
    let answer = try await control(.post, "submissions/\(opened.id)/capture")
    try #require(answer.json["status"] == "SUBMITTED", "\(answer.json)")
    return opened
  }
}

// MARK: - Log-in

extension GoPayApp {
  static func loginQuery(_ change: [String: String?] = [:]) -> String {
    let standard: [String: String?] = [
      "redirectURL": callback, "scopes": "DEFAULT", "state": state, "merchantId": merchant,
      "lang": "en",
    ]
    return standard.merging(change) { $1 }
      .compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encoded($0))" } }
      .joined(separator: "&")
  }

  func loginPage(
    _ change: [String: String?] = [:], cookie: String? = nil
  ) async throws -> Answer {
    var headers: [String: String] = [:]
    headers["cookie"] = cookie
    return try await send(
      .get, "/gopay/snap/v1.0/get-auth-code?\(Self.loginQuery(change))", headers: headers)
  }

  /// Submits the form of a page.
  func type(
    _ fields: [String: String], on page: Answer, action: String = "next"
  ) async throws -> Answer {
    let form = fields.merging([
      "transaction": try page.field("transaction"), "csrf": try page.field("csrf"),
      "action": action,
    ]) { own, _ in own }
    let text = form.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    return try await send(
      .post, "/gopay/snap/login", body: Array(text.utf8),
      type: "application/x-www-form-urlencoded")
  }

  /// Returns the code in the newest SMS.
  func otp(to phone: String = phone) async throws -> String {
    let message = await context.outbox.messages(to: phone, provider: "gopay").first
    return try #require(message?.message.code)
  }

  /// Logs a customer in with an SMS code and a PIN.
  func login(_ phone: String = phone, pin: String = "2468") async throws -> Answer {
    let page = try await loginPage()
    _ = try await type(["phone": phone], on: page)
    _ = try await type(["otp": try await otp(to: phone)], on: page)
    return try await type(["pin": pin], on: page)
  }
}
