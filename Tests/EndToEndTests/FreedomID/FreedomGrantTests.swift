import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The profile members that grants open. Others are not returned, whatever the provider sends.
@Suite("Freedom ID's grants", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomGrantTests {
  /// The grants of the documentation's table, with Alice's values.
  private static let table: [(grant: String, member: String, value: JSONValue)] = [
    ("read.data_of_birth", "dateOfBirth", "1990-12-31"), ("read.firstname", "firstname", "Alice"),
    ("read.lastname", "lastname", "Adams"), ("read.patronymic", "patronymic", "Arthurovna"),
    ("read.country", "country", "GBR"), ("read.nationality", "nationality", "GBR"),
    ("read.gender", "gender", "F"), ("read.identifier", "identifier", "901231400456"),
    ("read.phone", "phone", "+447700900123"), ("read.email", "email", "alice@example.com"),
    ("read.phones", "phones", ["+447700900123", "+447700900124"]),
    ("read.emails", "emails", ["alice@example.com", "alice.adams@example.com"]),
  ]

  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture() }

  @Test("Freedom ID's grant for the date of birth, in either spelling, opens only dateOfBirth")
  func alone() throws {
    let end = try fixture.authorized(["read.date_of_birth", "read.data_of_birth"])
    let profile: JSONValue = ["dateOfBirth": "1990-12-31"]
    #expect(end["result"]?["granted"] == ["read.data_of_birth"], "\(end.text)")
    #expect(end.profile == profile)
    #expect(try fixture.account(end["result"]?["account"])["profile"] == profile)
    #expect(try fixture.accounts().map { $0["profile"] } == [profile])
    #expect(try fixture.consents().map { $0["grant"] } == ["read.data_of_birth"])
    #expect(try fixture.list("consents").map { $0["granted"] } == [["read.date_of_birth"]])
  }

  @Test("the twelve grants together open the whole Freedom ID profile")
  func together() throws {
    let end = try fixture.authorized(Self.table.map(\.grant).reversed())
    let profile = Self.table.reduce(into: JSONValue.object([:])) { $0[$1.member] = $1.value }
    #expect(Self.table.count == 12 && end.profile == profile, "\(end.text)")
    // In the order of the table.
    #expect(end["result"]?["granted"] == .array(Self.table.map { .string($0.grant) }))
  }

  @Test("Freedom ID profile members that were not asked for are neither returned nor kept")
  func extraFields() throws {
    try fixture.set(["extraProfileFields": true])
    let end = try fixture.authorized(["read.firstname"])
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    #expect(!end.text.contains("never_asked") && !end.text.contains("4400430000001234"))
    // A later consent returns the values of its own answer, none that an earlier answer contained.
    let nothing = Dictionary(
      uniqueKeysWithValues: [
        "email", "emails", "phone", "phones", "lastname", "identifier",
      ].map { ($0, JSONValue.null) })
    try fixture.set(["extraProfileFields": false, "consentReply": ["profile": .object(nothing)]])
    let later = try fixture.authorized(["read.email", "read.lastname", "read.identifier"])
    let account = try fixture.account(later["result"]?["account"])
    #expect(
      account["profile"] == [
        "firstname": "Alice", "email": .null, "lastname": .null, "identifier": .null,
      ], "\(account.text)")
  }

  @Test("a Freedom ID answer with a grant that was not asked for ends the flow; nothing is stored")
  func neverAsked() throws {
    try fixture.set(["grantsNeverAsked": true])
    let end = try fixture.walk(fixture.authorize(["read.firstname"]))
    #expect(end.failure == ["provider_protocol_error", "dataProcessingError", nil], "\(end.text)")
    #expect(try fixture.consents().isEmpty)
    #expect(try fixture.accounts().allSatisfy { ($0["profile"] ?? .null) == .null })
  }
}
