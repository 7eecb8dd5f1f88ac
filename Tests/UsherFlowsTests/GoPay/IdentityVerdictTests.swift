import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Verdicts on GoPay submissions")
struct IdentityVerdictTests {
  private static func attributes(
    _ status: String = "SUBMITTED", _ changes: [String: JSONValue?] = [:]
  ) -> [String: JSONValue] {
    var kyc: [String: JSONValue] = [
      "requestId": "req-1", "submissionId": "sub-1", "status": .string(status), "result": nil,
      "reasonCode": nil, "submittedAt": .string(now.description),
      "updatedAt": .string(now.description),
    ]
    for (name, value) in changes { kyc[name] = value }
    return ["kyc": .object(kyc), "deviceId": "d-1"]
  }

  private func followUp(
    _ status: String = "SUBMITTED", _ changes: [String: JSONValue?] = [:], days: Int = 7
  ) throws -> (any AccountInquiry)? {
    let provider = try gopay { $0.kycDays = days }
    return provider.definition.followUp(attributes: Self.attributes(status, changes))
      as? any AccountInquiry
  }

  private func verdict(
    _ status: String = "SUBMITTED", _ changes: [String: JSONValue?] = [:], days: Int = 7
  ) throws -> any AccountInquiry {
    try #require(try followUp(status, changes, days: days))
  }

  private static func said(
    _ status: JSONValue, _ result: JSONValue = nil, of id: JSONValue = "sub-1"
  ) -> CallOutcome {
    .reply(
      reply([
        "success": true,
        "data": [
          "status": status, "result": result, "submissionId": id,
          "documents": [["url": "https://x"]], "submissionData": ["ktp": ["nik": "317"]],
        ],
      ]))
  }

  private static func callback(
    _ status: String, _ result: JSONValue = nil, of id: String = "sub-1",
    request: String = "req-1", shows token: String = "linking-secret", vouched: Bool = false
  ) -> ProviderCallback {
    ProviderCallback(
      requestID: request, authorization: Secret(token), isAuthenticated: vouched,
      members: ["status": .string(status), "result": result, "submissionId": .string(id)])
  }

  private let later = now + .seconds(100)

  @Test("the daemon polls only for GoPay accounts with a complete submission record")
  func none() throws {
    let provider = try gopay()
    #expect(provider.definition.followUp(attributes: [:]) == nil)
    #expect(provider.definition.followUp(attributes: ["kyc": "x"]) == nil)
    for name in ["requestId", "submissionId", "status", "submittedAt", "updatedAt"] {
      #expect(try followUp("SUBMITTED", [name: .some(nil)]) == nil)
      #expect(try followUp("SUBMITTED", [name: "?"]) == nil || name.hasSuffix("Id"))
    }
    #expect(try followUp() != nil)
    #expect(try UsherFlowsTests.provider().definition.followUp(attributes: [:]) == nil)
  }

  @Test(
    "the daemon asks about a GoPay submission after 5 s, then at doubled times up to every hour")
  func schedule() throws {
    let verdict = try verdict()
    var moment = now
    var seconds: [Int] = []
    for _ in 0..<15 {
      moment = try #require(verdict.nextInquiry(after: moment))
      seconds.append(Int((moment - now).milliseconds / 1000))
    }
    #expect(
      seconds == [
        5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 8720, 12_320, 15_920, 19_520,
      ])
  }

  @Test("GoPay's next inquiry depends only on the time of the submission and the present time")
  func restart() throws {
    let verdict = try verdict()
    for (time, next) in [
      (-100, 5), (0, 5), (4, 5), (5, 10), (6, 10), (2559, 2560), (2560, 5120), (5119, 5120),
      (5120, 8720), (8719, 8720), (8720, 12_320), (100_000, 102_320),
    ] {
      #expect(verdict.nextInquiry(after: now + .seconds(time)) == now + .seconds(next), "\(time)")
    }
  }

  @Test("inquiries about a GoPay submission stop after kyc_days")
  func days() throws {
    let end = now + .seconds(86_400)
    let verdict = try verdict(days: 1)
    // 5120 + 22 × 3600
    #expect(verdict.nextInquiry(after: end - .seconds(5000)) == now + .seconds(84_320))
    #expect(verdict.nextInquiry(after: now + .seconds(84_320)) == nil)
    #expect(verdict.nextInquiry(after: end) == nil)
    #expect(verdict.nextInquiry(after: .latest) == nil)
    #expect(try self.verdict(days: 2).nextInquiry(after: end) == now + .seconds(87_920))
  }

  @Test("the daemon asks about a GoPay submission until it is COMPLETED or has an ERROR")
  func open() throws {
    for status in ["SUBMITTED", "INITIATED", "IN_PROGRESS"] {
      #expect(try verdict(status).nextInquiry(after: now) == now + .seconds(5))
    }
    for status in ["COMPLETED", "ERROR"] {
      #expect(try verdict(status).nextInquiry(after: now) == nil)
    }
  }

  @Test("a GoPay inquiry has the account's linking token and the flow's requestId")
  func inquiry() throws {
    let call = try verdict().inquiry(of: AccountID("acc_1")) as? GoPayCall
    #expect(
      call == .currentSubmission(.account(AccountID("acc_1")), requestID: "req-1"))
  }

  @Test("a GoPay verdict is stored in the account's attributes, without the user's data")
  func learnt() throws {
    let outcome = try verdict().changes(from: Self.said("COMPLETED", "VALID"), at: later)
    let expected = Self.attributes(
      "COMPLETED", ["result": "VALID", "updatedAt": .string(later.description)])
    #expect(outcome == .attributes(expected))
  }

  @Test("a GoPay submission's status never goes back, and a repeated status changes nothing")
  func order() throws {
    let order = ["SUBMITTED", "INITIATED", "IN_PROGRESS", "ERROR", "COMPLETED"]
    for (before, old) in order.enumerated() {
      for (after, new) in order.enumerated() where new != "SUBMITTED" {
        let result: JSONValue = new == "COMPLETED" ? "VALID" : nil
        let byAnswer = try verdict(old).changes(from: Self.said(.string(new), result), at: later)
        let byCall = try verdict(old).changes(from: Self.callback(new, result), at: later)
        #expect((byAnswer != .nothing) == (after > before), "\(old) → \(new)")
        #expect(byAnswer == byCall)
      }
    }
  }

  @Test("a COMPLETED verdict of GoPay is final, and COMPLETED without a result is ignored")
  func final() throws {
    for result in ["VALID", "INVALID"] as [JSONValue] {
      let verdict = try verdict("COMPLETED", ["result": "VALID"])
      #expect(verdict.changes(from: Self.said("COMPLETED", result), at: later) == .nothing)
      #expect(verdict.changes(from: Self.callback("COMPLETED", result), at: later) == .nothing)
      #expect(verdict.changes(from: Self.callback("ERROR"), at: later) == .nothing)
    }
    #expect(try verdict().changes(from: Self.said("COMPLETED"), at: later) == .nothing)
  }

  @Test("the reasonCode of a GoPay ERROR is kept until the verdict comes")
  func error() throws {
    var callback = Self.callback("ERROR")
    callback.members["reasonCode"] = "BLUR"
    guard case .attributes(let attributes) = try verdict().changes(from: callback, at: later) else {
      Issue.record("the callback changes no attributes")
      return
    }
    #expect(attributes["kyc"]?["reasonCode"] == "BLUR" && attributes["kyc"]?["status"] == "ERROR")
    let verdict = try #require(try gopay().definition.followUp(attributes: attributes))
    guard
      case .attributes(let last) = verdict.changes(
        from: Self.callback("COMPLETED", "INVALID"), at: later)
    else {
      Issue.record("the callback changes no attributes")
      return
    }
    #expect(last["kyc"]?["result"] == "INVALID" && last["kyc"]?["reasonCode"] == .null)
    #expect(last["kyc"]?["submittedAt"] == .string(now.description))
  }

  @Test("a reply or a callback about another GoPay submission is ignored")
  func otherSubmission() throws {
    for id in ["sub-2", "", nil, 1] as [JSONValue] {
      #expect(
        try verdict().changes(from: Self.said("COMPLETED", "VALID", of: id), at: later) == .nothing)
    }
    let stray = Self.callback("COMPLETED", "VALID", of: "sub-2")
    #expect(try verdict().changes(from: stray, at: later) == .nothing)
  }

  @Test("a refused or missing linking token stops GoPay's inquiries, and no other failure does")
  func stopPolling() throws {
    func outcome(_ status: Int, _ code: Int64) throws -> FollowUpOutcome {
      try verdict().changes(
        from:
          .reply(reply(DrivenIdentity.refusal(code), status: status)), at: later)
    }
    #expect(try outcome(401, 1401) == .stopPolling)
    #expect(try outcome(401, 1) == .stopPolling)
    #expect(try verdict().changes(from: .noToken(message: "gone"), at: later) == .stopPolling)
    for (status, code) in [(404, 1519), (403, 1403), (400, 1539), (429, 900), (500, 900)] {
      #expect(try outcome(status, Int64(code)) == .nothing)
    }
    for outcome in [
      DrivenIdentity.gone, .unreadable(message: "x"), .reply(reply(text: "<html>")),
      Self.said("ODD"), Self.said("COMPLETED", "ODD"),
    ] {
      #expect(try verdict().changes(from: outcome, at: later) == .nothing)
    }
  }

  @Test("a callback about a GoPay submission needs the linking token or the shared credential")
  func judgement() throws {
    let verdict = try verdict()
    let token = Secret("linking-secret")
    func judged(_ callback: ProviderCallback, _ token: Secret?) -> CallbackVerdict {
      verdict.validate(callback, token: token)
    }
    #expect(judged(Self.callback("COMPLETED", "VALID"), token) == .match)
    #expect(judged(Self.callback("COMPLETED", "VALID"), nil) == .unauthorized)
    for value in ["", "linking", "linking-secreT"] {
      let stranger = Self.callback("COMPLETED", "VALID", shows: value)
      #expect(judged(stranger, token) == .unauthorized)
      #expect(judged(stranger, nil) == .unauthorized)
      #expect(judged(stranger, Secret("")) == .unauthorized)
    }
    let vouched = Self.callback("COMPLETED", "VALID", shows: "x", vouched: true)
    #expect(judged(vouched, token) == .match && judged(vouched, nil) == .match)
    let other = Self.callback("COMPLETED", "VALID", request: "req-2", vouched: true)
    #expect(judged(other, token) == .noMatch)
    #expect(verdict.callKey == "req-1")
    #expect(judged(Self.callback("ERROR", of: "sub-2"), token) == .conflict)
    #expect(judged(Self.callback("ERROR", of: "sub-2", shows: "x"), token) == .unauthorized)
  }

  @Test("the event of a GoPay verdict is named by its status in lower case")
  func eventName() throws {
    for (status, eventName) in [
      ("SUBMITTED", "submitted"), ("INITIATED", "initiated"), ("IN_PROGRESS", "in_progress"),
      ("COMPLETED", "completed"), ("ERROR", "error"),
    ] {
      #expect(try verdict(status).eventName == eventName)
    }
  }
}
