import Foundation
import Testing

@testable import UsherSandbox

@Suite("Paysafe fake over HTTP", .timeLimit(.minutes(10)))
struct PaysafeServerTests {
  private func token(_ base: String) async throws -> String {
    let answer = try await Exchange.post(base, "/_control/paysafe/tokens", "{}")
    return try #require(JSON(parsing: answer.httpBody.utf8)["access_token"]?.text)
  }

  @Test("the Paysafe wallet API decodes path segments and refuses unsupported methods with 405")
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

  @Test("the index page links to the Paysafe sign-in page and outbox and shows the configuration")
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
      #expect(try await Exchange.get(base, "/outbox").contains("No messages yet."))
    }
  }

  @Test("only one of ten concurrent retries with the same SCA proof is performed")
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
