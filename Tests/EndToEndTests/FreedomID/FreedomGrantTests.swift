import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What each grant opens, and that nothing else is told, whatever the provider says.
@Suite("Freedom ID's grants", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomGrantTests {
  /// A row of the page's table, with what Alice has there.
  struct Grant: CustomTestStringConvertible {
    let word: String
    let wire: String
    let member: String
    let value: JSONValue

    var testDescription: String { word }

    init(_ word: String, wire: String? = nil, _ member: String, _ value: JSONValue) {
      (self.word, self.wire, self.member, self.value) = (word, wire ?? word, member, value)
    }

    static let all = [
      Grant("read.data_of_birth", wire: "read.date_of_birth", "dateOfBirth", "1990-12-31"),
      Grant("read.firstname", "firstname", "Alice"),
      Grant("read.lastname", "lastname", "Adams"),
      Grant("read.patronymic", "patronymic", "Arthurovna"),
      Grant("read.country", "country", "GBR"),
      Grant("read.nationality", "nationality", "GBR"),
      Grant("read.gender", "gender", "F"),
      Grant("read.identifier", "identifier", "901231400456"),
      Grant("read.phone", "phone", "+447700900123"),
      Grant("read.email", "email", "alice@example.com"),
      Grant("read.phones", "phones", ["+447700900123", "+447700900124"]),
      Grant("read.emails", "emails", ["alice@example.com", "alice.adams@example.com"]),
    ]
  }

  private let scene: FreedomScene

  init() throws { scene = try FreedomScene() }

  @Test("by itself it opens its member and nothing else", arguments: Grant.all)
  func alone(grant: Grant) throws {
    let end = try scene.authorized([grant.word])
    let profile: JSONValue = [grant.member: grant.value]
    #expect(end["result"]?["granted"] == [.string(grant.word)], "\(end.text)")
    #expect(end.profile == profile)
    #expect(try scene.account(end["result"]?["account"])["profile"] == profile)
    #expect(try scene.accounts().map { $0["profile"] } == [profile])
    #expect(try scene.consents().map { $0["grant"] } == [.string(grant.word)])
    #expect(try scene.list("consents").map { $0["granted"] } == [[.string(grant.wire)]])
  }

  @Test("there are twelve, and together they open the whole profile")
  func together() throws {
    #expect(Grant.all.count == 12)
    let end = try scene.authorized(Grant.all.map(\.word).reversed())
    let profile = Grant.all.reduce(into: JSONValue.object([:])) { $0[$1.member] = $1.value }
    #expect(end.profile == profile)
    // In the order of the table.
    #expect(end["result"]?["granted"] == .array(Grant.all.map { .string($0.word) }))
  }

  @Test("twice, or in both spellings, it is one")
  func aliases() throws {
    let asked = try scene.standing(
      at: "consent",
      ["read.date_of_birth", "read.data_of_birth", "read.gender", "read.date_of_birth"])
    #expect(asked.asked == ["read.data_of_birth": false, "read.gender": false])
    let end = try scene.grant(["read.date_of_birth", "read.data_of_birth"], at: asked)
    #expect(end["result"]?["granted"] == ["read.data_of_birth"], "\(end.text)")
    #expect(end.profile == ["dateOfBirth": "1990-12-31"])
  }

  @Test("what the provider knows nothing of is null")
  func unknown() throws {
    let end = try scene.authorized(["read.patronymic", "read.firstname"], .bob)
    #expect(end.profile == ["patronymic": .null, "firstname": "Bob"], "\(end.text)")
  }

  @Test("no answer to the step names what it does not ask for, or nothing new, or nothing")
  func onlyWhatIsAsked() throws {
    try scene.authorized(["read.firstname"])
    let asked = try scene.standing(at: "consent", ["read.firstname", "read.phone"])
    for granted: JSONValue in [
      ["read.phone", "read.email"], ["read.cards"], ["read.firstname"], [], ["firstname"], [""],
    ] {
      #expect(
        try scene.refusal(["type": "consent", "granted": granted], to: asked)
          == ["invalid_input", "input.granted"], "\(granted.text)")
    }
    #expect(try scene.requests("consent") == 1)
    #expect(try scene.flow(asked) == asked)
    #expect(try scene.grant(["read.phone"], at: asked)["status"] == "succeeded")
  }

  @Test("members that nobody asked for are dropped: not told, not kept for a later consent")
  func extraFields() throws {
    try scene.set(["extraProfileFields": true])
    let end = try scene.authorized(["read.firstname"])
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    #expect(!end.text.contains("never_asked") && !end.text.contains("4400430000001234"))
    // Who is granted the others later sees what came with that, and nothing that was kept before.
    let nothing = Dictionary(
      uniqueKeysWithValues: [
        "email", "emails", "phone", "phones", "lastname", "identifier",
      ].map { ($0, JSONValue.null) })
    try scene.set(["extraProfileFields": false, "consentReply": ["profile": .object(nothing)]])
    let later = try scene.authorized(["read.email", "read.lastname", "read.identifier"])
    let account = try scene.account(later["result"]?["account"])
    #expect(
      account["profile"] == [
        "firstname": "Alice", "email": .null, "lastname": .null, "identifier": .null,
      ], "\(account.text)")
  }

  @Test("a grant that was never asked for contradicts the question: nothing of it is kept")
  func neverAsked() throws {
    try scene.set(["grantsNeverAsked": true])
    let end = try scene.walk(scene.authorize(["read.firstname"]))
    #expect(end.failure == ["provider_protocol_error", "dataProcessingError", nil], "\(end.text)")
    #expect(try scene.consents().isEmpty)
    #expect(try scene.accounts().allSatisfy { ($0["profile"] ?? .null) == .null })
  }

  @Test("what the provider grants less of is granted less of")
  func fewer() throws {
    try scene.set(["consentReply": ["granted": ["read.phone"]]])
    let end = try scene.walk(scene.authorize(["read.firstname", "read.phone"]))
    #expect(end["result"]?["granted"] == ["read.phone"], "\(end.text)")
    #expect(end.profile == ["phone": "+447700900123"])
    #expect(try scene.consents().map { $0["grant"] } == ["read.phone"])
  }

  @Test("a member of another type is no profile", arguments: [JSONValue.integer(7), ["x"], [:]])
  func otherType(value: JSONValue) throws {
    try scene.set(["consentReply": ["profile": ["firstname": value]]])
    let end = try scene.walk(scene.authorize(["read.firstname"]))
    #expect(end.failure == ["provider_protocol_error", "parsingError", nil], "\(end.text)")
    #expect(try scene.consents().isEmpty)
  }
}
