import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Requests for another person's profile, which that person accepts or rejects.
@Suite("requestProfile of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerProfileTests {
  private static let bobsPhone = "+447700900456"

  private let fixture: FreedomFixture

  init() throws {
    fixture = try FreedomFixture.partner()
    try fixture.signedIn(["read.profile"])
  }

  private func request(
    _ grants: [String] = ["read.firstname"], _ more: JSONValue = ["phone": .string(bobsPhone)],
    waitMs: Int64 = 60_000
  ) throws -> JSONValue {
    try fixture.perform("requestProfile", FreedomFixture.grants(grants) + more, waitMs: waitMs)
  }

  private func settle(_ word: String) throws {
    let id = try #require(try fixture.list("requests").last?["requestId"]?.stringValue)
    try fixture.sandbox.control("POST", "freedomid/requests/\(id)", ["status": .string(word)])
  }

  /// Starts a request and returns it, still pending, after the provider was asked twice.
  private func waiting(_ grants: [String] = ["read.firstname"]) throws -> JSONValue {
    let flow = try request(grants, waitMs: 0)
    try eventually("the daemon polls the request's status", moving: fixture.clock) {
      try fixture.requests("status") >= 2
    }
    let waiting = try fixture.flow(flow)
    #expect(waiting.state == "pending" && waiting.stepType == "wait", "\(waiting.text)")
    return waiting
  }

  @Test(
    "Freedom ID requestProfile by phone or id returns the members asked for and adds no account")
  func completed() throws {
    try fixture.set(["profileAnswer": "accept"])
    let id = try fixture.person("bob")["id"] ?? .null
    let phones: [JSONValue] = [
      ["phone": "+44 (7700) 900-456"], ["freedomId": .string(id.stringValue?.uppercased() ?? "")],
    ]
    for person in phones {
      let end = try request(["read.patronymic", "read.firstname", "read.date_of_birth"], person)
      let result = try #require(end["result"], "\(end.text)")
      #expect(result["freedomId"] == id)
      #expect(UUID(uuidString: result["requestId"]?.stringValue ?? "") != nil)
      #expect(
        result["granted"] == ["read.data_of_birth", "read.firstname", "read.patronymic"],
        "\(result.text)")
      #expect(
        Set(end.profile.objectValue?.keys.map { $0 } ?? []) == [
          "dateOfBirth", "firstname", "patronymic",
        ])
      #expect(end.profile["firstname"] == "Bob" && end.profile["patronymic"] == .null)
      #expect(end.account == .null)
    }
    #expect(try fixture.accounts().count == 1)
    #expect(Set(try fixture.list("requests").map { $0["requestId"] }).count == phones.count)
  }

  @Test("requestProfile succeeds when the person accepts at Freedom's page")
  func accepted() throws {
    let flow = try waiting(["read.email"])
    let page = try fixture.own("bob")
    #expect(page.text.contains("read.email"))
    let key = try #require(page.text.firstMatch(of: /name="accept" value="([^"]*)"/)?.1)
    _ = try fixture.press("me", ["accept": String(key)], on: page)
    let end = try fixture.app.finished(flow, moving: fixture.clock)
    #expect(end.profile == ["email": "bob@example.com"], "\(end.text)")
  }

  @Test("requestProfile that the person rejects ends as denied, with Freedom's message")
  func rejected() throws {
    try fixture.set(["profileAnswer": "reject"])
    let end = try request()
    #expect(end.failure == ["denied", "accessDenied", nil], "\(end.text)")
    #expect(end["failure"]?["message"] == "the person declined")
  }

  @Test("revoking the consent of the asking account ends a pending Freedom ID requestProfile")
  func takenBack() throws {
    try fixture.set(["profileAnswer": "pending"])
    let flow = try waiting()
    #expect(try fixture.app.call("consent.revoke", ["provider": "freedom"])["revoked"] != 0)
    let end = try fixture.app.finished(flow, moving: fixture.clock)
    #expect(
      end.failure == ["reauthentication_required", "transmissionError.autheticationError", nil],
      "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("the consent was revoked") == true)
  }

  @Test("a pending requestProfile expires with userCanceled, and Freedom is not asked any more")
  func expired() throws {
    try fixture.set(["profileAnswer": "pending"])
    let flow = try waiting()
    try settle("accepted")
    #expect(try fixture.flow(flow) == flow)
    try fixture.restart(ahead: 86_400)
    let end = try fixture.again().app.finished(flow)
    #expect(end["status"] == "expired" && end.failure == ["expired", "userCanceled", nil])
    let asked = try fixture.requests("status")
    try fixture.mend()
    // One request may have been in flight.
    #expect(
      try fixture.requests("status") <= asked + 1,
      "the daemon stops polling after the flow has expired")
  }

  @Test("a cancelled Freedom ID requestProfile stays cancelled when the person accepts later")
  func cancelled() throws {
    let flow = try waiting()
    let end = try fixture.app.flow(
      in: fixture.app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
    #expect(end.failure == ["cancelled", "userCanceled", nil])
    try settle("accepted")
    #expect(try fixture.flow(flow) == end)
  }

  @Test(
    "Freedom ID requestProfile neither returns, stores nor logs members that were not asked for")
  func extraFields() throws {
    try fixture.set(["profileAnswer": "accept", "extraProfileFields": true])
    let end = try request(["read.firstname"])
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(end["result"]?["granted"] == ["read.firstname"])
    #expect(!fixture.daemon.log.contains("bob@example.com"))
    let name = Data("bob@example.com".utf8)
    #expect(fixture.daemon.place.everything().allSatisfy { $0.bytes.range(of: name) == nil })
  }

  @Test("requestProfile is refused for an account without read.profile, and without an account")
  func account() throws {
    let bob = try fixture.signedIn(["read.firstname"], as: "bob").account
    let end = try request(["read.firstname"], ["phone": "+447700900123", "account": bob])
    #expect(end.failure == ["denied", "accessDenied", "100301"], "\(end.text)")
    let params = FreedomFixture.grants(["read.firstname"]) + ["phone": .string(Self.bobsPhone)]
    let start: JSONValue = ["provider": "freedom", "kind": "requestProfile", "params": params]
    let several = try fixture.app.error(of: "flow.start", start)
    #expect(several["code"] == -32602, "\(several.text)")
    for account in try fixture.accounts() {
      _ = try fixture.app.call("account.forget", ["account": account["id"] ?? .null])
    }
    #expect(try fixture.app.error(of: "flow.start", start)["code"] == 1101)
  }
}
