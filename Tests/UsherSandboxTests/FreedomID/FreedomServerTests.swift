import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID fake over HTTP", .timeLimit(.minutes(10)))
struct FreedomServerTests {
  private static let app = [
    "X-API-Key: s3cret:freedom/api-key", "X-Device-Id: \(FreedomApp.device)",
    "Content-Type: application/json",
  ]

  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  @Test("the OpenAPI document lists exactly the Freedom ID device routes that the sandbox serves")
  func openAPI() async throws {
    try await withSandbox { base in
      let document = try json(await Exchange.get(base, "/freedomid/openapi.json"))
      #expect(document["openapi"] == "3.1.0")
      guard case .object(let paths)? = document["paths"] else {
        Issue.record("the OpenAPI document has no paths")
        return
      }
      var written: Set<String> = []
      for (path, operations) in paths {
        guard case .object(let operations) = operations else { continue }
        for method in operations.keys.map({ $0.uppercased() }) {
          written.insert("\(method) \(path)")
          let answer = try await Exchange.send(base, method, path, headers: Self.app, "{}")
          let status = try #require(answer.split(separator: " ").dropFirst().first)
          #expect(!["404", "405", "500"].contains(status), "\(method) \(path): \(status)")
        }
      }
      let served = try FreedomApp().freedom.endpoints
        .filter { $0.path.hasPrefix("/freedomid/api/v1/device/") }
        .map { "\($0.method.rawValue) \($0.path)" }
      #expect(written == Set(served))
      #expect(written.count == 9)
    }
  }

  @Test("the OpenAPI document lists all Freedom ID grants, and each of its references resolves")
  func references() throws {
    let text = String(decoding: PackageResources.device_api_openapi_json, as: UTF8.self)
    let document = try JSON(parsing: Array(text.utf8))
    #expect(
      document["components"]?["schemas"]?["Grant"]?["enum"]
        == .array(FreedomGrant.words.map { .string($0) }))
    let names = text.matches(of: /"#\/([A-Za-z\/]+)"/).map { String($0.1) }
    #expect(names.count > 20)
    for name in names {
      var place: JSON? = document
      for part in name.split(separator: "/") { place = place?[String(part)] }
      #expect(place != nil, "\(name)")
    }
  }

  @Test(
    "the request log and Freedom ID control lists contain no secret that was sent or handed out")
  func log() async throws {
    try await withSandbox { base in
      let device = "/freedomid/api/v1/device"
      _ = try await Exchange.send(
        base, "POST", "\(device)/login/password", headers: Self.app,
        #"{"email":"alice@example.com","password":"canary-password&client_id=x"}"#)
      let tied = try json(
        await Exchange.send(
          base, "POST", "\(device)/login/password", headers: Self.app,
          #"{"email":"alice@example.com","password":"alice-password"}"#))
      _ = try await Exchange.send(
        base, "POST", "\(device)/login/otp/verify", headers: Self.app,
        #"{"challenge_id":"\#(FreedomApp.device)","code":"canary-code"}"#)
      let link = try json(
        await Exchange.send(
          base, "POST", "/freedomid/api/v1/oauth/authorize",
          headers: ["Content-Type: application/json", "Authorization: \(FreedomApp.basic)"],
          #"{"redirect_uri":"http://127.0.0.1:1/callback","grants":["openid"]}"#))
      let track = try #require(
        link["redirect_uri"]?.text?.firstMatch(of: /(\/freedomid\/login\?track_id=([^&]+))/))
      _ = try await Exchange.get(base, String(track.1))
      let seen = try await [
        "requests", "freedomid/tokens", "freedomid/accounts", "freedomid/consents",
      ].asyncMap { try await Exchange.get(base, "/_control/\($0)") }.joined()
      #expect(seen.contains(#""count":5"#))
      for secret in [
        "canary", "s3cret", "alice-password", "Basic", String(track.2),
        try #require(tied["access_token"]?.text), try #require(tied["refresh_token"]?.text),
      ] {
        #expect(!seen.contains(secret))
      }
    }
  }

  @Test("the index page links to the Freedom ID pages, and the issuer cannot use Freedom ID's path")
  func index() async throws {
    try await withSandbox { base in
      let page = try await Exchange.get(base, "/")
      #expect(page.contains("base_url = &quot;\(base)/freedomid&quot;"))
      #expect(page.contains(#"href="\#(base)/freedomid/me""#))
      #expect(page.contains("/_control/freedomid/logout"))
      #expect(try await Exchange.get(base, "/freedomid/me").contains("aigerim@example.com"))
    }
    var configuration = Sandbox.Configuration()
    configuration.issuerPath = "/freedomid"
    #expect(throws: Sandbox.ConfigurationError.self) { try Sandbox(configuration) }
  }
}

extension [String] {
  fileprivate func asyncMap(_ transform: (String) async throws -> String) async throws -> [String] {
    var result: [String] = []
    for element in self { result.append(try await transform(element)) }
    return result
  }
}
