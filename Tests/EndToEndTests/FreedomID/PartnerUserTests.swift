import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// People whom a partner makes and changes.
@Suite(
  "Freedom ID's partner API: createUser and updateUser", .mayBlock,
  .timeLimit(.minutes(10)))
struct PartnerUserTests {
  private static let phone: JSONValue = ["phone": "+77015550001"]

  private let scene: FreedomScene

  init() throws {
    scene = try FreedomScene.partner()
    try scene.signedIn()
  }

  private func create(_ more: JSONValue = [:]) throws -> JSONValue {
    try scene.perform("createUser", Self.phone + more, waitMs: 30_000)
  }

  private func update(_ more: JSONValue) throws -> JSONValue {
    try scene.perform(
      "updateUser", ["freedomId": scene.person("bob")["id"] ?? .null] + more, waitMs: 30_000)
  }

  private func person(_ id: JSONValue?) throws -> JSONValue {
    try scene.list("people").first { $0["id"] == id } ?? .null
  }

  @Test("somebody is created, with all that is said of him")
  func created() throws {
    let end = try scene.perform(
      "createUser",
      [
        "phone": "+7 (701) 555-00-01", "email": "new@example.com", "firstname": "Нұрлан",
        "lastname": "O'Neill", "dateOfBirth": "2000-02-29", "identifier": "000229500123",
        "country": "KAZ", "gender": "M", "nationality": "KAZ",
      ])
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(Array(end["result"]?.objectValue?.keys.map { $0 } ?? []) == ["freedomId"])
    let profile = try person(end["result"]?["freedomId"])["profile"]
    #expect(profile?["phone"] == "+77015550001" && profile?["email"] == "new@example.com")
    #expect(profile?["firstname"] == "Нұрлан" && profile?["lastname"] == "O'Neill")
    #expect(profile?["date_of_birth"] == "2000-02-29" && profile?["country"] == "KAZ")
    #expect(profile?["gender"] == "M" && profile?["identifier"] == "000229500123")
    // It brings no account.
    #expect(try scene.accounts().count == 1)
  }

  @Test("somebody is changed, and what is not named stays")
  func updated() throws {
    let id = try scene.person("bob")["id"]
    let end = try update(["firstname": "Robert", "phone": "+447700900999"])
    #expect(end["result"] == ["freedomId": id ?? .null], "\(end.text)")
    let profile = try person(id)["profile"]
    #expect(profile?["firstname"] == "Robert" && profile?["phone"] == "+447700900999")
    #expect(profile?["email"] == "bob@example.com")
  }

  @Test(
    "a phone number or an address that is somebody else's: the provider's no names the member",
    arguments: [false, true])
  func taken(inside200: Bool) throws {
    try scene.set(["errorsInside200": .bool(inside200)])
    let ends = [
      ("phone", try scene.perform("createUser", ["phone": "+447700900123"])),
      ("email", try create(["email": "alice@example.com"])),
      ("phone", try update(["phone": "+447700900123"])),
    ]
    for (member, end) in ends {
      #expect(
        end.failure == ["provider_rejected", "transmissionError.incorrectRequestStructure", nil])
      #expect(end["failure"]?["message"]?.stringValue?.contains(member) == true, "\(end.text)")
    }
    #expect(try scene.requests("createUser") == 2)
  }

  static let impossible: [(String, JSONValue)] = [
    ("phone", "7701"), ("phone", "+7701555000a"), ("phone", "+7701555000123456"), ("phone", ""),
    ("email", "a"), ("email", "@b"), ("email", "a@b@c"),
    ("email", .string("a@" + String(repeating: "b", count: 254))), ("country", "KZ"),
    ("country", "kaz"), ("country", "KAZA"), ("country", "К3З"), ("gender", "X"), ("gender", "m"),
    ("gender", ""), ("dateOfBirth", "1990-13-01"), ("dateOfBirth", "1990-02-30"),
    ("dateOfBirth", "31.12.1990"), ("dateOfBirth", "1990-12-31T00:00:00Z"), ("firstname", " "),
    ("firstname", "a\nb"), ("lastname", .string(String(repeating: "x", count: 257))),
    ("identifier", ""), ("nationality", "\u{0}"),
  ]

  @Test(
    "a value that cannot be: the message names the member, and nobody is asked",
    arguments: impossible)
  func cannotBe(member: String, value: JSONValue) throws {
    for end in [try create([member: value]), try update([member: value])] {
      #expect(
        end.failure == ["invalid_request", "componentValidationError", nil],
        "\(member) \(value.text): \(end.text)")
      let message = end["failure"]?["message"]?.stringValue ?? ""
      #expect(message.contains(member))
      #expect((value.stringValue?.count ?? 0) < 4 || !message.contains(value.stringValue ?? ""))
    }
    #expect(try scene.requests("createUser") == 0 && scene.requests("updateUser") == 0)
  }

  @Test("who is created needs a number, who is changed an id")
  func missing() throws {
    let ends = [
      (try scene.perform("createUser", ["firstname": "A"]), "phone"),
      (try scene.perform("updateUser", ["firstname": "A"]), "freedomId"),
      (try scene.perform("updateUser", ["freedomId": "bob"]), "freedomId"),
    ]
    for (end, member) in ends {
      #expect(end.failure[1] == "componentValidationError", "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains(member) == true)
    }
    let unknown = try scene.perform(
      "updateUser", ["freedomId": "01234567-89ab-4def-8123-456789abcdef", "firstname": "A"])
    #expect(unknown.failure[1] == "transmissionError.incorrectRequestStructure", "\(unknown.text)")
    let misspelt = try scene.app.error(
      of: "flow.start",
      [
        "provider": "freedom", "kind": "createUser",
        "params": ["phone": "+77015550001", "nam": "x"],
      ]
    )
    #expect(misspelt["code"] == -32602)
  }

  @Test(
    "unreachable after sending: it may have been done, so it is not repeated, and the flow says so",
    arguments: [
      ["reset": true, "processed": true], ["reset": true], ["status": 503],
      ["status": 500, "processed": true], ["halfBody": true],
    ] as [JSONValue])
  func unreachable(fault: JSONValue) throws {
    try scene.spoil("createUser", fault)
    try scene.spoil("updateUser", fault)
    for end in [try create(), try update(["firstname": "Robert"])] {
      #expect(end.failure[0] == "provider_unreachable", "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains("is not known") == true)
      #expect(end["failure"]?["retryable"] == false)
    }
    #expect(try scene.requests("createUser") == 1 && scene.requests("updateUser") == 1)
  }

  @Test("an answer that is none leaves it in the dark too")
  func unusable() throws {
    for reply: JSONValue in [["freedom_id": .null], ["freedom_id": "bob"], ["freedom_id": 7]] {
      try scene.set(["changeReply": reply])
      let end = try update(["firstname": "Robert"])
      #expect(end.failure == ["provider_protocol_error", "parsingError", nil], "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains("is not known") == true)
    }
    try scene.set(["changeReply": ["freedom_id": "01234567-89ab-4def-8123-456789abcdef"]])
    #expect(try update(["firstname": "Robert"]).failure[1] == "dataProcessingError")
  }

  @Test("what was certainly not done is done again", arguments: [429])
  func again(status: Int64) throws {
    try scene.spoil("createUser", ["status": .integer(status)], times: 1)
    let end = try create()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("createUser") == 2)
  }

  @Test("a token that is not good any more is renewed, and the call made then")
  func renewed() throws {
    try scene.sandbox.control("POST", "freedomid/expireTokens")
    #expect(try create()["status"] == "succeeded")
    #expect(try scene.requests("createUser") == 2 && scene.requests("refresh") == 1)
  }

  @Test("nobody is there to connect to: nothing was sent, so it is tried on till it is given up")
  func nobody() throws {
    scene.sandbox.killAtOnce()
    let flow = try scene.perform("createUser", Self.phone, waitMs: 0)
    let away = try scene.moved(flow, "tells of it") { $0.problem == "provider_unreachable" }
    #expect(away.state == "sending" && away.stepType == "wait", "\(away.text)")
    let end = try scene.app.flow(
      in: scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
    #expect(end.failure == ["cancelled", "userCanceled", nil], "\(end.text)")
  }

  @Test("what is said of people is in no event, and not in the database once the flow is over")
  func canary() throws {
    let listener = try PartnerListener(scene.daemon.client())
    let flow = try create(["identifier": "990101-canary"])
    let heard = try listener.events { $0["flow"] == flow["id"] && $0["status"] == "succeeded" }
    #expect(!heard.map(\.text).joined().contains("canary"))
    #expect(!scene.daemon.log.contains("canary"))
    let kept = scene.daemon.place.everything()
      .filter { $0.bytes.range(of: Data("990101-canary".utf8)) != nil }
    #expect(kept.isEmpty, "\(kept.map(\.name))")
  }
}
