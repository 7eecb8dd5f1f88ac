import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Data of successful GoPay replies")
struct GoPayDataTests {
  private func data(_ members: [String: JSONValue]) -> GoPayData { GoPayData(members: members) }

  /// Values that no HTTP header can carry as a token.
  private static let unfit: [JSONValue?] = [
    nil, .null, "", "a b", "a\n", "\u{7F}", "ä", 7, true, ["t"], ["t": "t"],
  ]

  @Test("a GoPay auth code or token of visible ASCII is accepted up to its maximum length")
  func tokens() throws {
    let longest = String(repeating: "x", count: 4096)
    #expect(try data(["authCode": "c/+~="]).authCode() == Secret("c/+~="))
    #expect(try data(["authCode": .string(longest)]).authCode() == Secret(longest))
    #expect(
      try data(["accessTokenInfo": ["accessToken": "t"]]).linkingToken() == Secret("t"))
    let token = String(repeating: "x", count: 16_384)
    #expect(try data(["token": .string(token)]).captureToken() == Secret(token))
  }

  @Test("a value that no header can carry is not a GoPay token", arguments: unfit)
  func noTokens(value: JSONValue?) {
    #expect(throws: UnusableReply.self) { try data(["authCode": value ?? .null]).authCode() }
    #expect(throws: UnusableReply.self) { try data(["token": value ?? .null]).captureToken() }
    #expect(throws: UnusableReply.self) {
      try data(["accessTokenInfo": ["accessToken": value ?? .null]]).linkingToken()
    }
    #expect(throws: UnusableReply.self) { try data(["accessTokenInfo": value ?? 7]).linkingToken() }
  }

  @Test("a GoPay reply without an auth code or token, or with one that is too long, is unusable")
  func tooLong() {
    let long = JSONValue.string(String(repeating: "x", count: 4097))
    #expect(throws: UnusableReply.self) { try data([:]).authCode() }
    #expect(throws: UnusableReply.self) { try data(["authCode": long]).authCode() }
    #expect(throws: UnusableReply.self) {
      try data(["accessTokenInfo": ["accessToken": long]]).linkingToken()
    }
    let longer = JSONValue.string(String(repeating: "x", count: 16_385))
    #expect(throws: UnusableReply.self) { try data(["token": longer]).captureToken() }
  }

  @Test("a GoPay exchange reply has a userCorrelationId and may have a linking token")
  func exchanged() throws {
    #expect(
      try data(["userCorrelationId": "corr-1"]).exchanged()
        == GoPayExchanged(correlationID: "corr-1", token: nil))
    #expect(
      try data(["userCorrelationId": "corr-1", "token": nil, "reason": nil]).exchanged()
        == GoPayExchanged(correlationID: "corr-1", token: nil))
    #expect(
      try data(["userCorrelationId": "", "token": "t"]).exchanged()
        == GoPayExchanged(correlationID: "", token: Secret("t")))
  }

  @Test(
    "a GoPay exchange reply with a missing or malformed member is unusable",
    arguments: [
      [:], ["userCorrelationId": nil], ["userCorrelationId": 5678],
      ["userCorrelationId": "c", "token": "a b"], ["userCorrelationId": "c", "token": 7],
      ["userCorrelationId": "c", "token": ""], ["userCorrelationId": "c", "reason": 7],
      ["success": ["userCorrelationId": "c"]],
    ] as [[String: JSONValue]])
  func notExchanged(members: [String: JSONValue]) {
    #expect(throws: UnusableReply.self) { try data(members).exchanged() }
  }

  @Test(
    "a GoPay capture page has an https or loopback URL and may have an expiry",
    arguments: [
      "https://onekyc.example.com/c/1?session=1", "http://127.0.0.1:8080/c",
      "http://localhost/c", "https://x.example/#/capture",
    ])
  func page(url: String) throws {
    let page = try data([
      "submissionId": "sub-1", "url": .string(url), "expiresAt": "2027-01-15T08:10:00Z",
    ]).capturePage()
    let end = Timestamp(rfc3339: "2027-01-15T08:10:00Z")
    #expect(page == Capture.Page(submissionID: "sub-1", url: url, expiresAt: end))
  }

  @Test(
    "a GoPay capture page with any other URL makes the reply unusable",
    arguments: [
      "", "http://onekyc.example.com/", "javascript:alert(1)", "file:///etc/passwd",
      "//x.example/", "https://", "https://u:p@x.example/", "https://x.example/ a",
      "https://x.example/\u{1B}[0m", "https://x.example/#\u{1B}", "https://x.example/ä",
      "https://x.example/\"", "https://x.example/#" + String(repeating: "x", count: 4096),
    ])
  func noPage(url: String) {
    #expect(throws: UnusableReply.self) {
      try data(["submissionId": "sub-1", "url": .string(url)]).capturePage()
    }
  }

  private static let noIDs: [JSONValue] = [
    nil, "", "a b", "ä", 7, .string(String(repeating: "x", count: 257)),
  ]

  @Test("a malformed submissionId makes the GoPay reply unusable", arguments: noIDs)
  func ids(value: JSONValue) {
    #expect(throws: UnusableReply.self) {
      try data(["submissionId": value, "url": "https://x.example/"]).capturePage()
    }
    #expect(throws: UnusableReply.self) {
      try data(["submissionId": value, "status": "CREATED"]).capture("sub-1")
    }
    #expect(throws: UnusableReply.self) {
      try KYCStatus(data(["submissionId": value, "status": "INITIATED"]))
    }
  }

  @Test("a GoPay capture's status is accepted only with the submissionId that was asked about")
  func capture() throws {
    #expect(try data(["submissionId": "s", "status": "CREATED"]).capture("s") == .created)
    #expect(try data(["submissionId": "s", "status": "SUBMITTED"]).capture("s") == .submitted)
    #expect(throws: UnusableReply.self) {
      try data(["submissionId": "t", "status": "SUBMITTED"]).capture("s")
    }
    for status in ["created", "DONE", nil, 1] as [JSONValue] {
      #expect(throws: UnusableReply.self) {
        try data(["submissionId": "s", "status": status]).capture("s")
      }
    }
  }

  @Test("a GoPay capture that failed without an error word is an unknown failure")
  func failedSilently() throws {
    for error in [nil, 7, "", ["a"]] as [JSONValue] {
      let standing = try data(["submissionId": "s", "status": "FAILED", "error": error])
        .capture("s")
      guard case .failed(let refusal) = standing else { return #expect(Bool(false)) }
      #expect(refusal.error == .unknown)
      #expect(!refusal.sentence.isEmpty)
    }
  }

  private func standing(
    _ status: JSONValue, _ result: JSONValue? = nil, _ reason: JSONValue? = nil
  ) throws -> KYCStatus {
    var members: [String: JSONValue] = ["submissionId": "s", "status": status]
    members["result"] = result
    members["reasonCode"] = reason
    return try KYCStatus(data(members))
  }

  @Test("the status, result and reasonCode of a GoPay submission are read from the reply")
  func kyc() throws {
    for (status, known) in [
      ("INITIATED", .initiated), ("IN_PROGRESS", .inProgress), ("COMPLETED", .completed),
      ("ERROR", .error),
    ] as [(JSONValue, KYCRecord.Status)] {
      #expect(try standing(status).status == known)
    }
    #expect(try standing("COMPLETED", "VALID").result == .valid)
    #expect(try standing("COMPLETED", "INVALID", "BLUR").result == .invalid)
    #expect(try standing("COMPLETED", "INVALID", "BLUR").reasonCode == "BLUR")
    #expect(try standing("COMPLETED", "INVALID", 12).reasonCode == "12")
    #expect(try standing("IN_PROGRESS", .null).result == nil)
    #expect(try standing("IN_PROGRESS").submissionID == "s")
  }

  @Test("a GoPay submission with an unknown status or result makes the reply unusable")
  func noStanding() {
    for status in ["completed", "", "SUBMITTED", nil, 1] as [JSONValue] {
      #expect(throws: UnusableReply("status is missing or unknown")) { try standing(status) }
    }
    for result in ["valid", ""] as [JSONValue] {
      #expect(throws: UnusableReply("result is unknown")) { try standing("COMPLETED", result) }
    }
    for result in [true, 1] as [JSONValue] {
      #expect(throws: UnusableReply("result is not a string")) {
        try standing("IN_PROGRESS", result)
      }
    }
  }

  @Test("an unknown result of a GoPay submission is ignored until its status is COMPLETED")
  func unknownResult() throws {
    #expect(try standing("IN_PROGRESS", "PENDING").result == nil)
    #expect(try standing("INITIATED", "VALID").result == .valid)
  }
}
