import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// People whom a partner creates and updates.
@Suite(
  "createUser and updateUser of Freedom ID's partner API", .mayBlock,
  .timeLimit(.minutes(10)))
struct PartnerUserTests {
  private static let phone: JSONValue = ["phone": "+77015550001"]

  private let fixture: FreedomFixture

  init() throws {
    fixture = try FreedomFixture.partner()
    try fixture.signedIn()
  }

  private func create(_ more: JSONValue = [:]) throws -> JSONValue {
    try fixture.perform("createUser", Self.phone + more)
  }

  private func update(_ more: JSONValue) throws -> JSONValue {
    try fixture.perform(
      "updateUser", ["freedomId": fixture.person("bob")["id"] ?? .null] + more)
  }

  private func person(_ id: JSONValue?) throws -> JSONValue {
    try fixture.list("people").first { $0["id"] == id } ?? .null
  }

  @Test("Freedom ID createUser creates a person with all given members and adds no account")
  func created() throws {
    let end = try fixture.perform(
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
    // createUser adds no account.
    #expect(try fixture.accounts().count == 1)
  }

  @Test("Freedom ID updateUser changes the given members and keeps the others")
  func updated() throws {
    let id = try fixture.person("bob")["id"]
    let end = try update(["firstname": "Robert", "phone": "+447700900999"])
    #expect(end["result"] == ["freedomId": id ?? .null], "\(end.text)")
    let profile = try person(id)["profile"]
    #expect(profile?["firstname"] == "Robert" && profile?["phone"] == "+447700900999")
    #expect(profile?["email"] == "bob@example.com")
  }

  @Test("Freedom ID's refusal of another person's phone number or e-mail address names the member")
  func taken() throws {
    try fixture.set(["errorsInside200": true])
    let ends = [
      ("email", try create(["email": "alice@example.com"])),
      ("phone", try update(["phone": "+447700900123"])),
    ]
    for (member, end) in ends {
      #expect(
        end.failure == ["provider_rejected", "transmissionError.incorrectRequestStructure", nil])
      #expect(end["failure"]?["message"]?.stringValue?.contains(member) == true, "\(end.text)")
    }
  }

  @Test(
    "Freedom ID createUser and updateUser name an invalid member in the failure and do not send it")
  func cannotBe() throws {
    for end in [try create(["email": "canary@b@c"]), try update(["email": "canary@b@c"])] {
      #expect(end.failure == ["invalid_request", "componentValidationError", nil], "\(end.text)")
      let message = end["failure"]?["message"]?.stringValue ?? ""
      #expect(message.contains("email") && !message.contains("canary"))
    }
    #expect(try fixture.requests("createUser") == 0 && fixture.requests("updateUser") == 0)
  }

  @Test("createUser and updateUser are not repeated after a lost answer, and the failure says so")
  func unreachable() throws {
    let fault: JSONValue = ["reset": true, "processed": true]
    try fixture.spoil("createUser", fault)
    try fixture.spoil("updateUser", fault)
    for end in [try create(), try update(["firstname": "Robert"])] {
      #expect(end.failure[0] == "provider_unreachable", "\(end.text)")
      #expect(end["failure"]?["message"]?.stringValue?.contains("is not known") == true)
      #expect(end["failure"]?["retryable"] == false)
    }
    #expect(try fixture.requests("createUser") == 1 && fixture.requests("updateUser") == 1)
  }

  @Test(
    "Freedom ID createUser leaves a person's identifier in no event, log or file once it has ended")
  func canary() throws {
    let listener = try PartnerListener(fixture.daemon.client())
    let flow = try create(["identifier": "990101-canary"])
    let heard = try listener.events { $0["flow"] == flow["id"] && $0["status"] == "succeeded" }
    #expect(!heard.map(\.text).joined().contains("canary"))
    #expect(!fixture.daemon.log.contains("canary"))
    let kept = fixture.daemon.place.everything()
      .filter { $0.bytes.range(of: Data("990101-canary".utf8)) != nil }
    #expect(kept.isEmpty, "\(kept.map(\.name))")
  }
}
