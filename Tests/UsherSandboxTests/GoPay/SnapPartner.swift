import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import UsherSandbox

/// A partner that calls SNAP, correctly or with chosen mistakes.
struct SnapPartner {
  static let path = "/gopay/snap/v1.0"
  /// A key number that no sandbox uses.
  static let key = Result { try RSAKeys.key(100) }

  let app: GoPayApp
  let token: String

  /// Registers the partner's key and requests a client token.
  init(_ app: GoPayApp) async throws {
    self.app = app
    try await Self.register(app)
    token = try #require(try await Self.b2b(app).json["accessToken"]?.text)
  }

  static func register(_ app: GoPayApp) async throws {
    let pem = try key.get().publicKey.pemRepresentation
    let answer = try await app.control(.post, "key", ["publicKey": .string(pem)])
    try #require(answer.status == 200, "\(answer.json)")
  }

  /// Returns the sandbox's time, shifted by `seconds`, as a SNAP timestamp.
  static func timestamp(_ app: GoPayApp, _ seconds: Double = 0) -> String {
    SnapTimestamp(app.clock.now().addingTimeInterval(seconds)).text
  }

  static func rsa(_ text: String) throws -> Data {
    try key.get().signature(
      for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5
    ).rawRepresentation
  }

  /// - Parameter change: Changes the headers before they are sent.
  static func b2b(
    _ app: GoPayApp, off seconds: Double = 0,
    body: String = #"{"grantType":"client_credentials"}"#,
    _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> GoPayApp.Answer {
    let timestamp = timestamp(app, seconds)
    var headers = [
      "x-client-key": "acme-sdk", "x-timestamp": timestamp,
      "x-signature": try rsa("acme-sdk|\(timestamp)").base64EncodedString(),
    ]
    change(&headers)
    return try await app.send(
      .post, "\(path)/access-token/b2b", headers: headers, body: Array(body.utf8))
  }

  /// - Parameters:
  ///   - headers: Additional headers, added before `change` runs.
  ///   - signedBody: The body that the signature covers; nil for `body`.
  func call(
    _ name: String, _ body: String, headers more: [String: String] = [:],
    off seconds: Double = 0, externalID: String = .externalID, signedBody: String? = nil,
    _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> GoPayApp.Answer {
    let path = "\(Self.path)/\(name)"
    let timestamp = Self.timestamp(app, seconds)
    let digest = Hex.text(SHA256.hash(data: Data((signedBody ?? body).utf8)))
    let text = "POST:\(path):\(token):\(digest):\(timestamp)"
    let secret = SymmetricKey(data: Data("s3cret:snap/key+=".utf8))
    let code = HMAC<SHA512>.authenticationCode(for: Data(text.utf8), using: secret)
    var headers = more.merging([
      "authorization": "Bearer \(token)", "x-timestamp": timestamp,
      "x-signature": Data(code).base64EncodedString(), "x-partner-id": "acme-sdk",
      "x-external-id": externalID, "channel-id": "95221",
    ]) { $1 }
    change(&headers)
    return try await app.send(.post, path, headers: headers, body: Array(body.utf8))
  }

  static func binding(_ code: String, merchant: String = GoPayApp.merchant) -> String {
    #"{"merchantId":"\#(merchant)","authCode":"\#(code)","grantType":"AUTHORIZATION_CODE"}"#
  }

  func bind(
    _ code: String, off seconds: Double = 0, externalID: String = .externalID,
    _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> GoPayApp.Answer {
    try await call(
      "registration-account-binding", Self.binding(code), off: seconds, externalID: externalID,
      change)
  }

  func unbind(
    _ customer: String?, merchant: String = GoPayApp.merchant,
    _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> GoPayApp.Answer {
    var headers = ["x-device-id": "installation-1"]
    headers["authorization-customer"] = customer
    return try await call(
      "registration-account-unbinding", #"{"merchantId":"\#(merchant)"}"#, headers: headers,
      change)
  }

  /// Returns an unredeemed auth code of alice's.
  func code() async throws -> String {
    try #require(try await app.control(.post, "codes").json["authCode"]?.text)
  }
}

extension String {
  /// 32 random digits, new at each access.
  static var externalID: String { TokenGenerator().digits(32) }
}
