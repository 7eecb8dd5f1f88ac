import Foundation
import Testing

@testable import UsherSandbox

/// The BSA fake without HTTP, with helpers that act as the app and as users at sites.
struct BSAApp {
  typealias Answer = GoPayApp.Answer

  static let key = "s3cret:bsa/client-key"
  static let acme = "s3cret:bsa/site-acme"
  static let other = "s3cret:bsa/site-other"
  static let device = "5f0c1a52-7a5e-4e61-9a77-0d9f1f6f1c11"
  static let otherDevice = "0f8fad5b-d9cb-469f-a165-70867728950e"
  static let email = "alice@example.com"
  static let phone = "+447700900123"

  let context: BackendContext
  let bsa: BSABackend
  let clock: SandboxClock

  init() throws {
    clock = SandboxClock { start }
    context = try BackendContext.test(clock)
    bsa = BSABackend(context)
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  /// Returns the endpoint for a path, and the path's parameters. A literal path is preferred to one
  /// with placeholders.
  private func row(
    _ method: Endpoint.Method, _ path: String
  ) throws -> (Endpoint, [String: String]) {
    let wanted = path.split(separator: "/")
    let rows = (bsa.endpoints + bsa.controls).filter { $0.method == method }
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

  /// Sends a BSA protocol call with `lang` and the client key.
  func wire(
    _ method: Endpoint.Method, _ path: String, _ members: [String: JSON] = [:],
    key: String? = BSAApp.key
  ) async throws -> Answer {
    var members = members
    members["lang"] = "en"
    members["clientKey"] = key.map { .string($0) }
    if method == .get || method == .delete {
      let query = members.map { "\($0.key)=\(PercentEncoding.encoded($0.value.text ?? ""))" }
      return try await send(method, "/bsa\(path)?\(query.joined(separator: "&"))")
    }
    return try await send(method, "/bsa\(path)", body: JSON.object(members).encoded())
  }

  func control(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil
  ) async throws -> Answer {
    try await send(method, "/_control/bsa/\(path)", body: json?.encoded())
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

  /// Returns the one-time code in the newest message to an address.
  func number(to address: String = email) async throws -> String {
    let message = await context.outbox.messages(to: address, provider: "bsa").first
    return try #require(message?.message.code)
  }
}

// MARK: - Registration

extension BSAApp {
  func mail(_ email: String = email) async throws -> Answer {
    try await wire(.post, "/mail", ["email": .string(email), "emailType": "HTML"])
  }

  func verifyMail(_ number: String, of email: String = email) async throws -> Answer {
    try await wire(
      .post, "/mail/verify", ["email": .string(email), "authNum": .string(number)])
  }

  /// Verifies an e-mail address and returns its disposeToken.
  func disposeToken(_ email: String = email) async throws -> String {
    _ = try await mail(email)
    let answer = try await verifyMail(try await number(to: email), of: email)
    return try #require(answer.data?["disposeToken"]?.text, "\(answer.json)")
  }

  /// Returns all parameters of a sign-up.
  static func person(_ userKey: String = "alice-key", _ token: String) -> [String: JSON] {
    [
      "email": .string(email), "phoneNum": .string(phone), "userKey": .string(userKey),
      "name": "Alice Adams", "disposeToken": .string(token), "otpType": "CMMDUP001",
      "authType": 3, "deviceId": .string(device), "appPackage": "com.example.app",
      "os": "CMMDOS002", "osVersion": "Linux", "appVersion": "1.0.0",
      "deviceManufacturer": "Linux", "deviceName": "usherd", "token": "push-token",
      "agreeGccs": true, "agreePerson": true, "agreeDevice": true,
    ]
  }

  func signUp(
    key userKey: String = "alice-key", token: String? = nil, _ changes: [String: JSON] = [:]
  ) async throws -> Answer {
    let token = if let token { token } else { try await disposeToken() }
    return try await wire(
      .post, "/users", Self.person(userKey, token).applying(overrides: changes))
  }

  /// Sends the re-registration of alice on another device.
  func changeDevice(
    _ userKey: String = "alice-key", token: String, _ changes: [String: JSON] = [:]
  ) async throws -> Answer {
    var members = Self.person(userKey, token).applying(overrides: [
      "userKey": .null, "email": .null, "phoneNum": .null, "agreeGccs": .null,
      "agreePerson": .null, "agreeDevice": .null, "deviceId": .string(Self.otherDevice),
    ])
    members["verifyType"] = "CMMDUP001"
    members["verifyData"] = .string(Self.email)
    return try await wire(
      .put, "/users/\(userKey)/device", members.applying(overrides: changes))
  }

  /// Registers alice and returns her TOTP secret.
  @discardableResult
  func registered() async throws -> [UInt8] {
    let answer = try await signUp()
    return base32(try #require(answer.data?["secretKey"]?.text, "\(answer.json)"))
  }
}

// MARK: - Signing in

extension BSAApp {
  func exist(_ userKey: String = "alice-key", on device: String = device) async throws -> Answer {
    try await wire(
      .get, "/auth/exist", ["deviceId": .string(device), "userKey": .string(userKey)])
  }

  func open(
    _ changes: [String: JSON] = [:], key: String = acme
  ) async throws -> Answer {
    let members: [String: JSON] = [
      "userKey": "alice-key", "deviceId": .string(Self.device), "authPlatform": "CMMAPF002",
    ]
    return try await wire(.post, "/auth", members.applying(overrides: changes), key: key)
  }

  func complete(
    localAuth: Bool = true, _ changes: [String: JSON] = [:]
  ) async throws -> Answer {
    let members: [String: JSON] = [
      "deviceId": .string(Self.device), "isSecondaryCertification": .bool(localAuth),
    ]
    return try await wire(.post, "/auth/complete", members.applying(overrides: changes))
  }

  func result(_ channel: String, key: String = acme) async throws -> Answer {
    try await wire(
      .get, "/auth", ["deviceId": .string(Self.device), "channelKey": .string(channel)], key: key)
  }

  func cancel(_ changes: [String: JSON] = [:]) async throws -> Answer {
    try await wire(
      .delete, "/auth", ["deviceId": .string(Self.device)].applying(overrides: changes))
  }

  /// Opens a sign-in and returns its channel key.
  func channel(_ changes: [String: JSON] = [:], key: String = acme) async throws -> String {
    let answer = try await open(changes, key: key)
    return try #require(answer.data?["channelKey"]?.text, "\(answer.json)")
  }

  /// Returns a new one-time code to enter at a site.
  func loginNumber() async throws -> String {
    let answer = try await wire(
      .post, "/otp/generate", ["userKey": "alice-key", "deviceId": .string(Self.device)])
    return try #require(answer.data?.text, "\(answer.json)")
  }

  /// Submits a form of the site with a button.
  func press(_ button: String, _ fields: [String: String] = [:]) async throws -> Answer {
    let form = fields.merging(["action": button, "client": "acme"]) { own, _ in own }
    let text = form.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
    return try await send(
      .post, "/bsa/site", body: Array(text.utf8), type: "application/x-www-form-urlencoded")
  }

  /// Starts alice's sign-in at the site and returns the path of the page that shows its state.
  @discardableResult
  func begin(_ button: String = "push", number: String = "") async throws -> String {
    let answer = try await press(button, ["userKey": "alice-key", "number": number])
    try #require(answer.status == 303, "\(answer.html)")
    return answer.location
  }

  /// Returns the sign-in state that a page of the site shows.
  func state(_ page: String) async throws -> String {
    let html = try await send(.get, page).html
    return String(try #require(html.firstMatch(of: /id="state">([a-zA-Z]+)</)).1)
  }
}

extension GoPayApp.Answer {
  var rtCode: JSON? { json["rtCode"] }
}

/// Decodes Base32 (RFC 4648 section 6), independently of the code under test.
func base32(_ text: String) -> [UInt8] {
  let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
  let bits = text.filter { $0 != "=" }.flatMap { letter -> [Bool] in
    let value = letters.firstIndex(of: letter) ?? 0
    return (0..<5).map { value >> (4 - $0) & 1 == 1 }
  }
  return stride(from: 0, to: bits.count - 7, by: 8).map { start in
    bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
  }
}
