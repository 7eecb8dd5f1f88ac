import JSONRPC
import Testing

@testable import UsherKit

@Suite("Freedom ID's grants and profile", .timeLimit(.minutes(1)))
struct FreedomIDProfileTests {
  private static let words = [
    "read.data_of_birth", "read.firstname", "read.lastname", "read.patronymic", "read.country",
    "read.nationality", "read.gender", "read.identifier", "read.phone", "read.email",
    "read.phones", "read.emails",
  ]

  @Test("the grants have the SDK's names and values")
  func grants() {
    let names: [DataGrants] = [
      .readDateOfBirth, .readFirstname, .readLastname, .readPatronymic, .readCountry,
      .readNationality, .readGender, .readIdentifier, .readPhone, .readEmail, .readPhones,
      .readEmails,
    ]
    #expect(names == DataGrants.allCases)
    #expect(names.map(\.rawValue) == Self.words)
  }

  @Test("all of them are asked for in their order, with the key of the app")
  func asked() async throws {
    let daemon = FreedomIDDaemon(.authorized)
    _ = try await daemon.authorize(grants: DataGrants.allCases)
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(start["provider"] == "freedom" && start["kind"] == "authorize")
    #expect(
      start["params"] == [
        "apiKey": "key-1", "grants": .array(Self.words.map { .string($0) }),
      ])
  }

  @Test("each grant has its member")
  func members() async throws {
    let daemon = FreedomIDDaemon(
      .succeeded(
        #"""
        {"dateOfBirth":"1990-05-17","firstname":"Aigerim","lastname":"Bekova",\#
        "patronymic":"Serikovna","country":"KAZ","nationality":"KZ","gender":"F",\#
        "identifier":"900517400123","phone":"+77011234567","email":"a@b.kz",\#
        "phones":["+77011234567","+77017654321"],"emails":["a@b.kz"]}
        """#,
        granted: "[\(Self.words.map { "\"\($0)\"" }.joined(separator: ","))]"))
    let profile = try await daemon.authorize(grants: DataGrants.allCases).get()
    let texts = [
      profile.dateOfBirth, profile.firstname, profile.lastname, profile.patronymic,
      profile.country, profile.nationality, profile.gender, profile.identifier, profile.phone,
      profile.email,
    ]
    #expect(
      texts == [
        "1990-05-17", "Aigerim", "Bekova", "Serikovna", "KAZ", "KZ", "F", "900517400123",
        "+77011234567", "a@b.kz",
      ])
    #expect(profile.phones == ["+77011234567", "+77017654321"] && profile.emails == ["a@b.kz"])
    #expect(profile.granted == Set(DataGrants.allCases) && profile.account == "acc_1")
  }

  @Test("what was not granted is nil, and so is what nobody knows")
  func absent() async throws {
    let daemon = FreedomIDDaemon(
      .succeeded(
        #"{"phone":null,"emails":[]}"#, granted: #"["read.phone","read.emails","read.cards"]"#))
    let profile = try await daemon.authorize().get()
    #expect(profile.phone == nil && profile.firstname == nil && profile.phones == nil)
    #expect(profile.emails == [])
    #expect(profile.granted == [.readPhone, .readEmails])
  }

  @Test("a profile prints without the person's data")
  func printing() async throws {
    let profile = try await FreedomIDDaemon(.authorized).authorize().get()
    #expect("\(profile)" == "granted: read.firstname, read.phone")
    var dumped = ""
    dump(profile, to: &dumped)
    #expect(!dumped.contains("Aigerim") && !dumped.contains("7701"))
  }

  @Test(
    "a result that is no profile is parsingError",
    arguments: [
      "null", "{}", #"{"granted":[]}"#, #"{"profile":{}}"#, #"{"profile":[],"granted":[]}"#,
      #"{"profile":{"phone":7},"granted":[]}"#, #"{"profile":{"phones":"+7"},"granted":[]}"#,
      #"{"profile":{"emails":["a@b.kz",null]},"granted":[]}"#,
    ])
  func unreadable(result: String) async throws {
    let end = FreedomIDStanding(
      state: "completion", status: "succeeded", step: "null", result: result)
    #expect(try await FreedomIDDaemon(end).authorize().error == .parsingError)
  }
}
