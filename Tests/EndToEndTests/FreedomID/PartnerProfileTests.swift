import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Somebody else's profile, which that person gives or does not.
@Suite("Freedom ID's partner API: requestProfile", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerProfileTests {
  private static let bobsPhone = "+447700900456"

  private let scene: FreedomScene

  init() throws {
    scene = try FreedomScene.partner()
    try scene.signedIn(["read.profile"])
  }

  private func request(
    _ grants: [String] = ["read.firstname"], _ more: JSONValue = ["phone": .string(bobsPhone)],
    waitMs: Int64 = 15_000
  ) throws -> JSONValue {
    try scene.perform("requestProfile", FreedomScene.grants(grants) + more, waitMs: waitMs)
  }

  private func settle(_ word: String) throws {
    let id = try #require(try scene.list("requests").last?["requestId"]?.stringValue)
    try scene.sandbox.control("POST", "freedomid/requests/\(id)", ["status": .string(word)])
  }

  /// A flow that waits for the person, as it stands once the provider has been asked twice.
  private func waiting(_ grants: [String] = ["read.firstname"]) throws -> JSONValue {
    let flow = try request(grants, waitMs: 0)
    let asked = try scene.requests("status")
    try eventually("it is asked again and again") { try scene.requests("status") >= asked + 2 }
    let waiting = try scene.flow(flow)
    #expect(waiting.state == "pending" && waiting.stepType == "wait", "\(waiting.text)")
    return waiting
  }

  @Test("by phone number or by id: the members that were asked for, null ones too, and no account")
  func completed() throws {
    try scene.set(["profileAnswer": "accept"])
    let id = try scene.person("bob")["id"] ?? .null
    let phones: [JSONValue] = [
      ["phone": .string(Self.bobsPhone)], ["phone": "+44 (7700) 900-456"], ["freedomId": id],
      ["freedomId": .string(id.stringValue?.uppercased() ?? "")],
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
    #expect(try scene.accounts().count == 1)
    #expect(Set(try scene.list("requests").map { $0["requestId"] }).count == phones.count)
  }

  @Test("the person is asked at Freedom, and accepts there")
  func accepted() throws {
    let flow = try waiting(["read.email"])
    let page = try scene.own("bob")
    #expect(page.text.contains("read.email"))
    let key = try #require(page.text.firstMatch(of: /name="accept" value="([^"]*)"/)?.1)
    _ = try scene.press("me", ["accept": String(key)], on: page)
    let end = try scene.app.finished(flow)
    #expect(end.profile == ["email": "bob@example.com"], "\(end.text)")
  }

  @Test("rejected at once, and while it is asked: the provider's sentence, where it has one")
  func rejected() throws {
    try scene.set(["profileAnswer": "reject"])
    let end = try request()
    #expect(end.failure == ["denied", "accessDenied", nil], "\(end.text)")
    #expect(end["failure"]?["message"] == "the person declined")
    try scene.set(["profileAnswer": "ask"])
    let flow = try waiting()
    try scene.set([
      "statusReply": ["status": "rejected", "status_message": "not\u{7}today", "profile": .null]
    ])
    let later = try scene.app.finished(flow)
    #expect(later.failure == ["denied", "accessDenied", nil], "\(later.text)")
    #expect(later["failure"]?["message"]?.stringValue?.contains("\u{7}") == false)
  }

  @Test("failed: the provider's sentence, also where that is the person's no")
  func failed() throws {
    var flow = try waiting()
    try settle("failed")
    var end = try scene.app.finished(flow)
    #expect(end.failure == ["provider_rejected", "unknownError", nil], "\(end.text)")
    #expect(end["failure"]?["message"] == "the profile could not be read")
    flow = try waiting()
    try settle("rejected")
    end = try scene.app.finished(flow)
    #expect(end["failure"]?["message"] == "the person declined", "\(end.text)")
  }

  @Test("not_found: nobody has that number or id, or the request is forgotten")
  func notFound() throws {
    for person: JSONValue in [
      ["phone": "+77019999999"], ["freedomId": "01234567-89ab-4def-8123-456789abcdef"],
    ] {
      let end = try request(["read.firstname"], person)
      #expect(end.failure == ["provider_rejected", "unknownError", nil], "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains("no such request") == true)
    }
    let flow = try waiting()
    try settle("not_found")
    #expect(try scene.app.finished(flow).failure[0] == "provider_rejected")
  }

  @Test("a consent that is taken back ends the asking: the token is not used on")
  func takenBack() throws {
    try scene.set(["profileAnswer": "pending"])
    let flow = try waiting()
    #expect(try scene.app.call("consent.revoke", ["provider": "freedom"])["revoked"] != 0)
    let end = try scene.app.finished(flow)
    #expect(
      end.failure == ["provider_rejected", "transmissionError.autheticationError", nil],
      "\(end.text)")
    #expect(end["failure"]?["message"]?.stringValue?.contains("taken back") == true)
  }

  @Test("pending for ever: asked on till the flow's time is over, which is expired, userCanceled")
  func expired() throws {
    try scene.set(["profileAnswer": "pending"])
    let flow = try waiting()
    try settle("accepted")
    #expect(try scene.flow(flow) == flow)
    try scene.restart(ahead: 86_400)
    let end = try scene.again().app.finished(flow)
    #expect(end["status"] == "expired" && end.failure == ["expired", "userCanceled", nil])
    let asked = try scene.requests("status")
    try scene.mend()
    // One may have been on its way.
    #expect(try scene.requests("status") <= asked + 1, "nobody asks on")
  }

  @Test("whoever gives up is not told later")
  func cancelled() throws {
    let flow = try waiting()
    let end = try scene.app.flow(
      in: scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
    #expect(end.failure == ["cancelled", "userCanceled", nil])
    try settle("accepted")
    #expect(try scene.flow(flow) == end)
  }

  @Test("never a field that was not asked for, whatever the provider says")
  func extraFields() throws {
    try scene.set(["profileAnswer": "accept", "extraProfileFields": true])
    let end = try request(["read.firstname"])
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(end["result"]?["granted"] == ["read.firstname"])
    #expect(!scene.daemon.log.contains("bob@example.com"))
    let name = Data("bob@example.com".utf8)
    #expect(scene.daemon.place.everything().allSatisfy { $0.bytes.range(of: name) == nil })
  }

  @Test("what the person gives less of is granted less of")
  func fewer() throws {
    try scene.set([
      "profileAnswer": "accept", "statusReply": ["profile": ["email": "bob@example.com"]],
    ])
    let end = try request(["read.firstname", "read.email"])
    #expect(end["result"]?["granted"] == ["read.email"], "\(end.text)")
    #expect(end.profile == ["email": "bob@example.com"])
  }

  @Test("an answer about another person or request contradicts the question")
  func contradictions() throws {
    try scene.set(["profileAnswer": "accept", "otherAccount": true])
    let id = try scene.person("bob")["id"] ?? .null
    let end = try request(["read.firstname"], ["freedomId": id])
    #expect(end.failure == ["provider_protocol_error", "dataProcessingError", nil], "\(end.text)")
    try scene.set(["otherAccount": false])
    for setting in ["profileReply", "statusReply"] {
      try scene.set([setting: ["request_id": "01234567-89ab-4def-8123-456789abcdef"]])
      let end = try request()
      #expect(
        end.failure == ["provider_protocol_error", "dataProcessingError", nil], "\(end.text)")
      try scene.set([setting: [:]])
    }
  }

  @Test(
    "an answer that lacks what it must have is no answer",
    arguments: [
      ("profileReply", ["status": "perhaps"]), ("statusReply", ["status": .null]),
      ("statusReply", ["profile": .null]), ("statusReply", ["freedom_id": 7]),
      ("statusReply", ["profile": ["firstname": ["a"]]]),
    ] as [(String, JSONValue)])
  func unusable(setting: String, reply: JSONValue) throws {
    try scene.set(["profileAnswer": "accept", setting: reply])
    let end = try request()
    #expect(end.failure == ["provider_protocol_error", "parsingError", nil], "\(end.text)")
  }

  @Test("the answer to the request is lost: it is made again with the same id")
  func lost() throws {
    try scene.set(["profileAnswer": "accept"])
    try scene.spoil("profile", ["reset": true, "processed": true], times: 1)
    let end = try request()
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(try scene.requests("profile") == 2)
    #expect(try scene.list("requests").map { $0["requestId"] } == [end["result"]?["requestId"]])
  }

  @Test("a provider that is away while the person thinks is a problem, not the end")
  func away() throws {
    let flow = try waiting()
    try scene.spoil("status", ["status": 503], times: 2)
    let away = try scene.moved(flow, "tells of it") { $0.problem == "provider_unreachable" }
    try settle("accepted")
    let end = try scene.app.finished(away)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("what cannot be asked is not asked", arguments: [false, true])
  func flaws(byID: Bool) throws {
    let words: [(JSONValue, String)] = [
      ([:], "freedomId"), (["phone": "+447700900456", "freedomId": "x"], "freedomId"),
      (["phone": "0770"], "phone"), (["phone": ""], "phone"), (["freedomId": "bob"], "freedomId"),
      (["freedomId": "0123456789ab4def8123456789abcdef"], "freedomId"),
    ]
    for (person, word) in words {
      let end = try request(["read.firstname"], person)
      #expect(end.failure == ["invalid_request", "componentValidationError", nil], "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains(word) == true)
    }
    #expect(try request([]).failure[1] == "dataGrantsCanNotBeEmpty")
    for word in ["read.profile", "read.cards", "openid", "read.shoe_size"] {
      #expect(try request([word]).failure[1] == "componentValidationError")
    }
    #expect(try scene.requests("profile") == 0)
  }

  @Test("an account without read.profile may not ask; without any there is nobody to ask for")
  func account() throws {
    let bob = try scene.signedIn(["read.firstname"], as: "bob").account
    let end = try request(["read.firstname"], ["phone": "+447700900123", "account": bob])
    #expect(end.failure == ["denied", "accessDenied", "100301"], "\(end.text)")
    let params = FreedomScene.grants(["read.firstname"]) + ["phone": .string(Self.bobsPhone)]
    let start: JSONValue = ["provider": "freedom", "kind": "requestProfile", "params": params]
    let several = try scene.app.error(of: "flow.start", start)
    #expect(several["code"] == -32602, "\(several.text)")
    for account in try scene.accounts() {
      _ = try scene.app.call("account.forget", ["account": account["id"] ?? .null])
    }
    #expect(try scene.app.error(of: "flow.start", start)["code"] == 1101)
  }
}
