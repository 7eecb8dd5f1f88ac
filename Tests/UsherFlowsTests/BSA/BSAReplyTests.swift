import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

extension BSAReply {
  /// Reads the outcome of a call of which BSA may repeat everything.
  fileprivate static func read(_ outcome: CallOutcome) -> BSAReply {
    BSAReply(outcome, to: .deviceCheck(device: BSAParts.device))
  }
}

@Suite("Replies of BSA")
struct BSAReplyTests {
  private static let statuses = [200, 201, 204, 302, 400, 401, 403, 404, 408, 425, 429, 500, 503]

  @Test("a reply with BSA rtCode 0 is a success, whatever its HTTP status", arguments: statuses)
  func said(status: Int) {
    let data: JSONValue = ["result": true, "more": [1, "x"]]
    #expect(BSAReply.read(BSAParts.said(data, status: status)) == .success(data))
    #expect(BSAReply.read(BSAParts.said("text", status: status)) == .success("text"))
    #expect(BSAReply.read(BSAParts.said(status: status)) == .success(.null))
  }

  @Test("a reply with any other rtCode is a refusal, whatever its HTTP status", arguments: statuses)
  func refused(status: Int) {
    for code: Int64 in [1, 2000, 2009, 5019, 10_001, 77_777, -1, .max] {
      #expect(
        BSAReply.read(BSAParts.refusal(code, status: status))
          == .refused(RTRefusal(RTCode(code), message: "the vendor's words")))
    }
  }

  private static let noEnvelopes = [
    "", "null", "[]", "[{\"rtCode\":0}]", "{}", "\"0\"", "<html>", "{\"rtCode\":0",
    "{\"rtCode\":\"0\"}", "{\"rtCode\":0.0}", "{\"rtCode\":null}", "{\"rtCode\":true}",
    "{\"rtcode\":0}", "{\"data\":{\"rtCode\":0}}",
    "{\"rtCode\":99999999999999999999999999}",
  ]

  @Test("a reply without BSA rtCode is unreadable unless the server failed", arguments: noEnvelopes)
  func unreadable(text: String) {
    for status in [200, 302, 400, 401, 404, 499] {
      #expect(
        BSAReply.read(.reply(reply(text: text, status: status)))
          == .unreadable("the provider's answer (HTTP \(status)) has no rtCode"))
    }
  }

  @Test("HTTP 408, 425, 429 or 5xx without a BSA rtCode is a failed call", arguments: noEnvelopes)
  func problem(text: String) {
    for (status, mayHaveTakenEffect) in [
      (408, true), (425, false), (429, false), (500, true), (503, true), (599, true),
    ] {
      #expect(
        BSAReply.read(.reply(reply(text: text, status: status)))
          == .failed(
            BSAReplyError(
              message: "the provider answers HTTP \(status)", mayHaveTakenEffect: mayHaveTakenEffect
            )))
    }
  }

  @Test("Retry-After of an HTTP 429 or 503 reply of BSA is part of the failure")
  func retryAfter() {
    for status in [429, 503] {
      let answer = BSAReply.read(BSAParts.failing(status, after: 7))
      guard case .failed(let problem) = answer else {
        Issue.record("the reply is not a failed call: \(answer)")
        return
      }
      #expect(problem.retryAfter == .seconds(7))
    }
  }

  @Test("a BSA call without a reply is a failure that says whether the request was sent")
  func unreachable() {
    #expect(
      BSAReply.read(BSAParts.gone)
        == .failed(BSAReplyError(message: "gone", mayHaveTakenEffect: false)))
    #expect(
      BSAReply.read(BSAParts.lost)
        == .failed(BSAReplyError(message: "lost", mayHaveTakenEffect: true)))
    #expect(BSAReply.read(.unreadable(message: "a redirect")) == .unreadable("a redirect"))
    #expect(BSAReply.read(.noToken(message: "no token")) == .noToken("no token"))
  }

  @Test("an integer in a reply of BSA may be written as a string")
  func looseIntegers() {
    for value: JSONValue in [3, "3"] { #expect(value.looseInteger == 3) }
    for value: JSONValue in ["", "3.0", " 3", "x", 3.5, true, .null, [3], "99999999999999999999"] {
      #expect(value.looseInteger == nil)
    }
  }

  @Test("a secret in a reply of BSA is a string of 1 to 8192 visible ASCII characters")
  func secrets() {
    let longest = String(repeating: "~", count: 8192)
    for text in ["x", "token-secret!", longest] {
      #expect(JSONValue.string(text).visibleSecret == Sealed(Secret(text)))
    }
    for text in ["", " ", "a b", "a\n", "ü", "\u{7f}", longest + "~"] {
      #expect(JSONValue.string(text).visibleSecret == nil)
    }
    for value: JSONValue in [7, true, .null, ["x"], ["x": "y"]] {
      #expect(value.visibleSecret == nil)
    }
  }
}

@Suite("Refusals of BSA")
struct RTRefusalTests {
  private func failure(_ code: Int64) throws -> Failure {
    var driven = try DrivenContact()
    driven.refused(code)
    return try #require(driven.failure)
  }

  @Test("a known BSA rtCode ends the flow with its own reason, message and retryability")
  func table() throws {
    // rtCode 3006 (invalid) has a message of its own if it refuses the call that sends a code.
    for entry in RTCode.table where ![.done, .invalid].contains(entry.code) {
      let failure = try failure(entry.code.number)
      let number = entry.code.number
      let (reason, retryable): (Failure.Reason, Bool) =
        switch number {
        case 5000, 5001: (.expired, true)
        case 5011, 5018: (.denied, true)
        default: (.providerRejected, entry.isRetryable)
        }
      #expect(failure.reason == reason, "\(number)")
      #expect(failure.retryable == retryable, "\(number)")
      #expect(failure.message == entry.meaning && !failure.title.isEmpty)
      #expect(
        failure.provider
          == ProviderErrorCode(
            name: BSAParts.name, code: String(number), title: entry.name,
            message: "the vendor's words"))
    }
  }

  @Test("an unknown BSA rtCode ends the flow as rejected", arguments: [1, -1, 2018, 4242, 99_999])
  func unknown(code: Int64) throws {
    let failure = try failure(code)
    #expect(failure.reason == .providerRejected && !failure.retryable)
    #expect(failure.message == "the provider refuses for a reason that has no name")
    #expect(
      failure.provider
        == ProviderErrorCode(
          name: BSAParts.name, code: String(code), message: "the vendor's words"))
  }
}
