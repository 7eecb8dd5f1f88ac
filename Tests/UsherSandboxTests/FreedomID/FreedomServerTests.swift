import Foundation
import Testing

@testable import UsherSandbox

@Suite("Freedom ID: over HTTP")
struct FreedomServerTests {
  private static let app = [
    "X-API-Key: s3cret:freedom/api-key", "X-Device-Id: \(FreedomApp.device)",
    "Content-Type: application/json",
  ]

  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  @Test("the OpenAPI document names each route of the device, and no other; all are served")
  func openAPI() async throws {
    try await withSandbox { base in
      let document = try json(await Exchange.get(base, "/freedomid/openapi.json"))
      #expect(document["openapi"] == "3.1.0")
      guard case .object(let paths)? = document["paths"] else {
        Issue.record("no paths")
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

  @Test("the OpenAPI document has the grants, and every reference in it leads somewhere")
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

  @Test("a GET with a body is read, and methods of one path are told apart")
  func methods() async throws {
    try await withSandbox { base in
      let issued = try json(await Exchange.post(base, "/_control/freedomid/tokens", "{}"))
      let access = try #require(issued["access_token"]?.text)
      let headers = ["Authorization: Bearer \(access)", "Content-Type: application/json"]
      let oauth = "/freedomid/api/v1/oauth"
      let status = try json(
        await Exchange.send(
          base, "GET", "\(oauth)/get-profile/status", headers: headers,
          #"{"request_id":"7d1e7d9a-8f8e-4a57-9f53-1f4b2a5f0a01"}"#))
      #expect(status["status"] == "not_found")
      let user = try json(await Exchange.send(base, "GET", "\(oauth)/user", headers: headers))
      #expect(user["firstname"] == "Alice")
      let changed = try await Exchange.send(
        base, "PUT", "\(oauth)/user", headers: headers,
        #"{"freedom_id":"\#(user["id"]?.text ?? "")","lastname":"Ames"}"#)
      #expect(changed.hasPrefix("HTTP/1.1 200"))
      let refresh = try #require(issued["refresh_token"]?.text)
      let patched = try await Exchange.send(
        base, "PATCH", "\(oauth)/token", headers: ["Authorization: Bearer \(refresh)"])
      #expect(patched.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("a fault strikes each endpoint by its name, and the log knows it by the same")
  func faults() async throws {
    try await withSandbox { base in
      var seen: Set<String> = []
      for row in try FreedomApp().freedom.endpoints where seen.insert(row.name).inserted {
        let rule = #"{"endpoint":"\#(row.name)","times":1,"fault":{"status":418}}"#
        #expect(try await Exchange.post(base, "/_control/faults", rule).hasPrefix("HTTP/1.1 201"))
        let struck = try await Exchange.send(base, row.method.rawValue, row.path, "x=1")
        #expect(struck.hasPrefix("HTTP/1.1 418"), "\(row.name)")
        let well = try await Exchange.send(base, row.method.rawValue, row.path, "x=1")
        #expect(!well.hasPrefix("HTTP/1.1 418"), "\(row.name)")
        let log = try await Exchange.get(base, "/_control/requests?endpoint=\(row.name)")
        #expect(log.httpBody.contains(#""count":2"#), "\(row.name)")
      }
      #expect(seen.count > 20)
    }
  }

  @Test("no secret that was sent or handed out stands in the request log or in the lists")
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

  @Test("a log-out leaves the sandbox as a POST")
  func revoked() async throws {
    try await withSandbox { base in
      // The sandbox itself takes a POST there, and refuses what is no form.
      _ = try await Exchange.post(
        base, "/_control/freedomid/settings", #"{"revokeUri":"\#(base)/freedomid/me"}"#)
      _ = try await Exchange.post(base, "/_control/freedomid/tokens", "{}")
      let answer = try json(await Exchange.post(base, "/_control/freedomid/logout", "{}"))
      guard case .array(let answers)? = answer["answers"] else {
        Issue.record("no answers: \(answer)")
        return
      }
      #expect(answers.map { $0["status"] } == [400])
      let log = try await Exchange.get(base, "/_control/requests?endpoint=freedomid.me")
      #expect(log.contains(#""method":"POST""#))
    }
  }

  @Test("the index page leads to the pages, and the issuer cannot take Freedom's path")
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
    #expect(throws: Sandbox.Objection.self) { try Sandbox(configuration) }
  }
}

extension [String] {
  fileprivate func asyncMap(_ transform: (String) async throws -> String) async throws -> [String] {
    var result: [String] = []
    for element in self { result.append(try await transform(element)) }
    return result
  }
}
