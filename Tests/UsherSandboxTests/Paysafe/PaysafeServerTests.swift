import Foundation
import Testing

@testable import UsherSandbox

/// The Paysafe stand-in over HTTP.
@Suite("Paysafe: over HTTP")
struct PaysafeServerTests {
  private func token(_ base: String) async throws -> String {
    let answer = try await Exchange.post(base, "/_control/paysafe/tokens", "{}")
    return try #require(JSON(parsing: answer.httpBody.utf8)["access_token"]?.text)
  }

  @Test("each method arrives with the names in its path, decoded; others are refused")
  func methods() async throws {
    try await withSandbox { base in
      _ = try await Exchange.post(
        base, "/_control/paysafe/settings", #"{"scaForChanges":false}"#)
      let headers = [
        "Authorization: Bearer \(try await token(base))", "Content-Type: application/json",
      ]
      func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
        try await Exchange.send(
          base, method, "/paysafe/wallets/wlt_alice/\(path)", headers: headers, body)
      }
      let payee = #"{"name":"Books","iban":"GB33"}"#
      let put = try await send("PUT", "payees/a%20b+c", payee)
      #expect(put.hasPrefix("HTTP/1.1 200"))
      #expect(put.httpBody.contains(#""payeeId":"a b+c""#))
      #expect(try await send("GET", "payees").contains(#""payeeId":"a b+c""#))
      #expect(try await send("PATCH", "limits", #"{"daily":"9"}"#).contains(#""daily":"9.00""#))
      let gone = try await send("DELETE", "payees/a%20b+c")
      #expect(gone.hasPrefix("HTTP/1.1 204"))
      #expect(gone.bodySize == 0)
      let refused = try await send("PUT", "payments", "{}")
      #expect(refused.hasPrefix("HTTP/1.1 405"))
      #expect(refused.contains("Allow: GET, POST") || refused.contains("Allow: POST, GET"))
      let stranger = try await Exchange.get(base, "/paysafe/auth/brands/x/y/authorize")
      #expect(stranger.hasPrefix("HTTP/1.1 404"))
    }
  }

  @Test("a fault strikes each endpoint by its name, and the log knows it by the same")
  func faults() async throws {
    try await withSandbox { base in
      let event = "/paysafe/auth/sca/events/evt_x"
      let rows = [
        ("authorize", "GET", "/paysafe/auth/brands/acme/authorize"),
        ("login", "POST", "/paysafe/auth/brands/acme/login"),
        ("token", "POST", "/paysafe/auth/brands/acme/token"),
        ("event", "GET", event), ("challenge", "POST", "\(event)/challenges"),
        ("attempt", "POST", "\(event)/attempts"), ("push", "GET", "/paysafe/push/chl_x"),
        ("redirect", "POST", "/paysafe/redirect/chl_x"),
        ("balance", "GET", "/paysafe/wallets/wlt_alice/balance"),
        ("payment", "POST", "/paysafe/wallets/wlt_alice/payments"),
        ("payments", "GET", "/paysafe/wallets/wlt_alice/payments"),
        ("payees", "GET", "/paysafe/wallets/wlt_alice/payees"),
        ("payee", "PUT", "/paysafe/wallets/wlt_alice/payees/p1"),
        ("limits", "PATCH", "/paysafe/wallets/wlt_alice/limits"),
      ]
      for (name, method, path) in rows {
        let rule = #"{"endpoint":"paysafe.\#(name)","times":1,"fault":{"status":418}}"#
        #expect(try await Exchange.post(base, "/_control/faults", rule).hasPrefix("HTTP/1.1 201"))
        let struck = try await Exchange.send(base, method, path, "x=1")
        #expect(struck.hasPrefix("HTTP/1.1 418"), "\(name)")
        let well = try await Exchange.send(base, method, path, "x=1")
        #expect(!well.hasPrefix("HTTP/1.1 418"), "\(name)")
        let log = try await Exchange.get(base, "/_control/requests?endpoint=paysafe.\(name)")
        #expect(log.httpBody.contains(#""count":2"#), "\(name)")
      }
    }
  }

  @Test("no secret that was sent or handed out stands in the request log")
  func log() async throws {
    try await withSandbox { base in
      let form = "Content-Type: application/x-www-form-urlencoded"
      let token = "/paysafe/auth/brands/acme/token"
      let basic =
        "Authorization: Basic "
        + Data("acme-wallet:s3cret%3A%2B%2F%25".utf8)
        .base64EncodedString()
      let config = try await Exchange.send(
        base, "POST", token, headers: [form, basic], "grant_type=client_credentials")
      let fingerprint = try #require(
        JSON(parsing: config.httpBody.utf8)["digital_fingerprint"]?.text)
      _ = try await Exchange.send(
        base, "POST", token, headers: [form, basic],
        "grant_type=refresh_token&refresh_token=canary-refresh")
      _ = try await Exchange.get(
        base, "/paysafe/auth/brands/acme/authorize?digital_fingerprint=\(fingerprint)")
      _ = try await Exchange.send(
        base, "POST", "/paysafe/auth/brands/acme/login", headers: [form],
        "username=alice&pin=canary-pin&password=canary-password")
      let access = try await self.token(base)
      _ = try await Exchange.send(
        base, "POST", "/paysafe/auth/sca/events/evt_x/attempts",
        headers: ["Authorization: Bearer \(access)", "Content-Type: application/json"],
        #"{"walletOperationId":"w","verification":{"method":"PIN"},"value":"canary-value"}"#)
      let log = try await Exchange.get(base, "/_control/requests")
      #expect(log.contains(#""count":5"#))
      #expect(log.contains(#""grantType":"refresh_token""#))
      for secret in [
        "canary", "s3cret", fingerprint, access, "Basic", try #require(config.accessToken),
      ] {
        #expect(!log.contains(secret))
      }
    }
  }

  @Test("the index page leads to the sign-in pages and the outbox, and says how to configure it")
  func index() async throws {
    try await withSandbox { base in
      let page = try await Exchange.get(base, "/")
      #expect(page.contains(#"<a href="/outbox">"#))
      #expect(page.contains("base_url = &quot;\(base)/paysafe&quot;"))
      #expect(page.contains("client_id = &quot;acme-wallet&quot;"))
      #expect(page.contains("PATCH /_control") == false)
      #expect(page.contains("/_control/paysafe/settings"))
      let link = try #require(
        page.firstMatch(
          of: /href="http:\/\/[^\/]+(\/paysafe\/auth\/brands\/acme\/authorize[^"]+)"/)?.1)
      let path = String(link).replacing("&amp;", with: "&")
      let login = try await Exchange.get(base, path)
      #expect(login.hasPrefix("HTTP/1.1 200"))
      #expect(login.contains(#"id="pin""#))
      #expect(try await Exchange.get(base, "/outbox").contains("Nothing yet."))
    }
  }

  @Test("of ten retries at once exactly one is performed")
  func concurrency() async throws {
    let customer = try await Bank().customer()
    let event = try customer.event(announcedBy: try await customer.pay("150.00"))
    try await event.verifyByPIN()
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<10 {
        group.addTask { try await customer.pay("150.00", headers: event.proofHeader).status }
      }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(statuses.filter { $0 == 201 }.count == 1)
    #expect(statuses.filter { $0 == 403 }.count == 9)
  }
}

extension String {
  fileprivate var accessToken: String? {
    (try? JSON(parsing: httpBody.utf8))?["access_token"]?.text
  }
}
