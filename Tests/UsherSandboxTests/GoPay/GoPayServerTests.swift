import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay: over HTTP")
struct GoPayServerTests {
  private let headers = [
    "x-merchant-id: \(GoPayApp.merchant)", "request-id: req-1", "correlation-id: req-1",
    "authorization: long-term-token",
  ]

  private func json(_ answer: String) throws -> JSON {
    try JSON(parsing: Array(answer.httpBody.utf8))
  }

  /// The headers of the capture host.
  private func capturing(_ base: String) async throws -> [String] {
    let path = "/gopay/identity/forward/gopay-id/identity/v1/gopay-id/token"
    let answer = try json(await Exchange.send(base, "GET", path, headers: headers))
    let token = try #require(answer["data"]?["token"]?.text, "\(answer)")
    return [
      headers[0], "x-onekyc-token: \(token)", "x-sdk-session-id: \(GoPayApp.session)",
      "x-partner-session-id: req-1",
    ]
  }

  @Test("a submission is opened, handed in and pulled, and a callback leaves the sandbox")
  func whole() async throws {
    try await withSandbox { base in
      let headers = try await capturing(base)
      let submissions = "/gopay/capture/coe/v1/submissions"
      let opened = try json(
        await Exchange.send(
          base, "GET", "\(submissions)/urls?submissionType=FULL_KYC", headers: headers))
      let id = try #require(opened["data"]?["submissionId"]?.text, "\(opened)")
      let url = try #require(opened["data"]?["url"]?.text)
      #expect(url.hasPrefix("\(base)/gopay/capture/pages/"))
      let page = String(url.dropFirst(base.count))
      #expect(try await Exchange.get(base, page).contains(#"id="card""#))
      let form = ["Content-Type: application/x-www-form-urlencoded"]
      _ = try await Exchange.send(base, "POST", page, headers: form, "action=submit")
      let submission = try json(
        await Exchange.send(base, "GET", "\(submissions)/\(id)", headers: headers))
      #expect(submission["data"]?["status"] == "SUBMITTED")
      // The sandbox itself answers 405 to a PUT there: it was asked.
      let push = try json(
        await Exchange.post(
          base, "/_control/gopay/submissions/\(id)/push",
          #"{"url":"\#(base)/gopay/partner/exchange"}"#))
      guard case .array(let answers)? = push["answers"] else {
        Issue.record("no answers: \(push)")
        return
      }
      #expect(answers.map { $0["status"] } == [405])
      let log = try await Exchange.get(base, "/_control/requests")
      #expect(log.contains("/gopay/capture/pages/{page}"))
      #expect(!log.contains(page))
      #expect(!log.contains("long-term-token"))
    }
  }

  @Test("a callback that nobody takes is said to have failed")
  func nobody() async throws {
    // Port 1 is reserved, and nobody listens at it here.
    let url = try #require(CallbackURL("http://127.0.0.1:1/"))
    guard case .failed(let reason) = await LoopbackCaller.put(url, headers: [:], body: []) else {
      Issue.record("somebody answered")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test("an answer to a callback is read to its end, and what is no HTTP is none")
  func answers() throws {
    let text = "HTTP/1.1 401 Unauthorized\r\nA: b\r\n\r\n{}\r\n\r\n"
    #expect(
      try LoopbackCaller.answer(Array(text.utf8))
        == .answered(status: 401, body: Array("{}\r\n\r\n".utf8)))
    for text in ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 x\r\n\r\n"] {
      #expect(throws: LoopbackCaller.Trouble.self) { try LoopbackCaller.answer(Array(text.utf8)) }
    }
  }

  @Test("a fault loses an answer after the deed: the code is spent")
  func lost() async throws {
    try await withSandbox { base in
      let issued = try json(await Exchange.post(base, "/_control/gopay/codes", "{}"))
      let code = try #require(issued["authCode"]?.text)
      let added = try await Exchange.post(
        base, "/_control/faults",
        #"{"endpoint":"gopay.exchange","times":1,"fault":{"status":502,"processed":true}}"#)
      #expect(added.hasPrefix("HTTP/1.1 201"))
      func exchange(_ requestID: String) async throws -> String {
        try await Exchange.send(
          base, "POST", "/gopay/partner/exchange",
          headers: [
            "Content-Type: application/json", "Authorization: Bearer s3cret:exchange/key+=",
          ],
          #"{"authCode":"\#(code)","requestId":"\#(requestID)","userCorrelationId":"c"}"#)
      }
      #expect(try await exchange("one").hasPrefix("HTTP/1.1 502"))
      #expect(try await exchange("two").hasPrefix("HTTP/1.1 404"))
      #expect(try await exchange("one").hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("the issuer of the OpenID provider cannot take GoPay's path")
  func taken() {
    var configuration = Sandbox.Configuration()
    configuration.issuerPath = "/gopay"
    #expect(throws: Sandbox.Objection.self) { try Sandbox(configuration) }
  }
}
