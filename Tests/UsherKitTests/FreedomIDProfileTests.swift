import JSONRPC
import Testing

@testable import UsherKit

@Suite("Grants and profiles of Freedom ID in UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDProfileTests {
  private static let words = [
    "read.data_of_birth", "read.firstname", "read.lastname", "read.patronymic", "read.country",
    "read.nationality", "read.gender", "read.identifier", "read.phone", "read.email",
    "read.phones", "read.emails",
  ]

  @Test("the Freedom ID grants have the SDK's names, order and values")
  func grants() {
    let names: [DataGrants] = [
      .readDateOfBirth, .readFirstname, .readLastname, .readPatronymic, .readCountry,
      .readNationality, .readGender, .readIdentifier, .readPhone, .readEmail, .readPhones,
      .readEmails,
    ]
    #expect(names == DataGrants.allCases)
    #expect(names.map(\.rawValue) == Self.words)
  }

  @Test("authorize sends all Freedom ID grants in order, with the API key")
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

  @Test("each Freedom ID grant has its member in the profile")
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

  @Test("a Freedom ID profile has nil for missing members and ignores unknown grants")
  func absent() async throws {
    let daemon = FreedomIDDaemon(
      .succeeded(
        #"{"phone":null,"emails":[]}"#, granted: #"["read.phone","read.emails","read.cards"]"#))
    let profile = try await daemon.authorize(grants: [.readPhone, .readEmails]).get()
    #expect(profile.phone == nil && profile.firstname == nil && profile.phones == nil)
    #expect(profile.emails == [])
    #expect(profile.granted == [.readPhone, .readEmails])
  }

  @Test("a Freedom ID profile is printed and dumped without personal data")
  func printing() async throws {
    let profile = try await FreedomIDDaemon(.authorized).authorize().get()
    #expect("\(profile)" == "granted: read.firstname, read.phone")
    var dumped = ""
    dump(profile, to: &dumped)
    #expect(!dumped.contains("Aigerim") && !dumped.contains("7701"))
  }

  @Test(
    "a malformed Freedom ID result ends with parsingError",
    arguments: [
      "null", "{}", #"{"granted":[]}"#, #"{"profile":{}}"#, #"{"profile":[],"granted":[]}"#,
      #"{"profile":{"phone":7},"granted":[]}"#, #"{"profile":{"phones":"+7"},"granted":[]}"#,
      #"{"profile":{"emails":["a@b.kz",null]},"granted":[]}"#,
    ])
  func unreadable(result: String) async throws {
    let end = FreedomIDFlowSnapshot(
      state: "completion", status: "succeeded", step: "null", result: result)
    #expect(try await FreedomIDDaemon(end).authorize().error == .parsingError)
  }
}
