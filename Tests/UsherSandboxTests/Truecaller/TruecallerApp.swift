import Foundation
import Testing

@testable import UsherSandbox

/// The Truecaller fake without HTTP, called by an app with valid credentials.
struct TruecallerApp {
  static let headers = [
    "appkey": "s3cret:app/key+=", "applink": "https://acme.example.com/truecaller",
    "sdkversion": "0.2.3", "sdkvariant": "native",
  ]
  static let installation = "0F8FAD5B-D9CB-469F-A165-70867728950E"
  static let otherInstallation = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

  let context: BackendContext
  let truecaller: TruecallerBackend
  let clock: SandboxClock

  init() throws {
    clock = SandboxClock { start }
    context = try BackendContext.test(clock)
    truecaller = TruecallerBackend(context)
  }

  /// Advances the sandbox's clock.
  func wait(_ seconds: Double) { clock.offset += seconds }

  /// A reply with its parsed body.
  struct Answer: Equatable {
    let status: Int
    let json: JSON
    /// The error code of a refusal.
    var code: Int? {
      guard case .integer(let code)? = json["code"] else { return nil }
      return code
    }
  }

  struct AppError: Error, CustomStringConvertible {
    let description: String
  }

  func row(_ method: Endpoint.Method, _ path: String) throws -> (Endpoint, [String: String]) {
    for row in truecaller.endpoints + truecaller.controls where row.method == method {
      let place = "{accessToken}"
      if row.path == path { return (row, [:]) }
      if row.path.hasSuffix(place), path.hasPrefix(row.path.dropLast(place.count)) {
        return (row, ["accessToken": String(path.dropFirst(row.path.count - place.count))])
      }
    }
    throw AppError(description: "there is no row for \(method.rawValue) \(path)")
  }

  func call(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil, query: String = "",
    headers: [String: String] = headers
  ) throws -> (Endpoint, EndpointCall) {
    let (row, parameters) = try row(method, path)
    var call = EndpointCall(method, path, base: "http://127.0.0.1:1")
    call.parameters = parameters
    call.query = query
    call.headers = headers
    if let json {
      call.body = json.encoded()
      call.headers["content-type"] = "application/json"
    }
    return (row, call)
  }

  func send(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil, query: String = "",
    headers: [String: String] = headers
  ) async throws -> Answer {
    let (row, call) = try call(method, path, json, query: query, headers: headers)
    let reply = await row.handle(call)
    return Answer(status: reply.status, json: try JSON(parsing: reply.body))
  }

  func control(
    _ method: Endpoint.Method, _ path: String, _ json: JSON? = nil, query: String = ""
  ) async throws -> Answer {
    try await send(method, "/_control/truecaller/\(path)", json, query: query, headers: [:])
  }

  func set(_ settings: JSON) async throws {
    let answer = try await control(.post, "settings", settings)
    try #require(answer.status == 200, "\(answer.json)")
  }
}

extension TruecallerApp {
  /// Returns a valid request for a code, as the contract defines it.
  static func createBody(
    _ phoneNumber: String = "9876543210", _ country: String = "IN",
    _ installation: String = installation
  ) -> [String: JSON] {
    [
      "countryCodeName": .string(country), "phoneNumber": .string(phoneNumber), "clientId": 16,
      "phonePermission": false, "os": "ios", "version": "1.0", "sequence": 1,
      "deviceId": .string(installation), "simSerial": [.string(installation)],
    ]
  }

  func create(
    _ phoneNumber: String = "9876543210", _ country: String = "IN",
    installation: String = installation
  ) async throws -> Answer {
    try await send(
      .post, "/truecaller/v1/otp/installation/create",
      .object(Self.createBody(phoneNumber, country, installation)))
  }

  /// Returns the code in the newest SMS.
  func code(to number: String = "+919876543210") async throws -> String {
    let message = await context.outbox.messages(to: number, provider: "truecaller").first
    return try #require(message?.message.code)
  }

  func verify(
    _ code: String, _ token: JSON?, _ phoneNumber: String = "9876543210",
    _ country: String = "IN"
  ) async throws -> Answer {
    try await send(
      .post, "/truecaller/v1/otp/installation/verify",
      [
        "countryCodeName": .string(country), "phoneNumber": .string(phoneNumber),
        "secretToken": .string(code), "verificationToken": token ?? .null,
      ])
  }

  /// Verifies a number with its code and returns the access token.
  func accessToken(
    _ phoneNumber: String = "9876543210", _ country: String = "IN",
    e164: String = "+919876543210"
  ) async throws -> String {
    let created = try await create(phoneNumber, country).json
    let verified = try await verify(
      code(to: e164), created["verificationToken"], phoneNumber, country)
    return try #require(verified.json["accessToken"]?.text, "\(verified)")
  }

  /// Returns a code that differs from `code`.
  static func wrong(_ code: String) -> String {
    code.hasPrefix("0") ? "1" + code.dropFirst() : "0" + code.dropFirst()
  }

  func profile(_ token: String, at host: String = "noneu") async throws -> Answer {
    try await send(.get, "/truecaller/\(host)/v1/profile", headers: Self.bearing(token))
  }

  func update(
    _ token: String, _ body: JSON = ["firstName": "Asha", "lastName": "Rao"],
    at host: String = "noneu"
  ) async throws -> Answer {
    try await send(.post, "/truecaller/\(host)/v1/profile", body, headers: Self.bearing(token))
  }

  static func bearing(_ token: String) -> [String: String] {
    headers.merging(["authorization": "Bearer \(token)"]) { $1 }
  }
}
