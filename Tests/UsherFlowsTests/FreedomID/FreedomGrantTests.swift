import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Freedom ID grants")
struct FreedomGrantTests {
  /// Each grant with its name in the SDK, its name in the partner API and its profile member.
  private static let table: [(DataGrant, String, String, String)] = [
    (.dateOfBirth, "read.data_of_birth", "read.date_of_birth", "dateOfBirth"),
    (.firstname, "read.firstname", "read.firstname", "firstname"),
    (.lastname, "read.lastname", "read.lastname", "lastname"),
    (.patronymic, "read.patronymic", "read.patronymic", "patronymic"),
    (.country, "read.country", "read.country", "country"),
    (.nationality, "read.nationality", "read.nationality", "nationality"),
    (.gender, "read.gender", "read.gender", "gender"),
    (.identifier, "read.identifier", "read.identifier", "identifier"),
    (.phone, "read.phone", "read.phone", "phone"), (.email, "read.email", "read.email", "email"),
    (.phones, "read.phones", "read.phones", "phones"),
    (.emails, "read.emails", "read.emails", "emails"),
  ]

  @Test("every Freedom ID grant has an SDK name, a partner API name, a profile member and a label")
  func words() {
    #expect(Self.table.map(\.0) == DataGrant.allCases)
    for (grant, word, wire, member) in Self.table {
      #expect(grant.rawValue == word && grant.wire == wire && grant.member == member)
      #expect(DataGrant(either: word) == grant && DataGrant(either: wire) == grant)
      #expect(grant.field == String(wire.dropFirst(5)))
      #expect(PartnerGrant(either: wire) == .data(grant))
      #expect(PartnerGrant.data(grant).text == word && PartnerGrant.data(grant).wire == wire)
      #expect(!grant.label.isEmpty)
    }
    #expect(Set(DataGrant.allCases.map(\.label)).count == 12)
    #expect(DataGrant.allCases.filter(\.isList) == [.phones, .emails])
  }

  @Test("only the exact names of the table are Freedom ID grants")
  func others() {
    for text in ["", "firstname", "read.Firstname", "read.firstname ", "read.profile", "openid"] {
      #expect(DataGrant(either: text) == nil)
    }
    for text in ["", "read.card", "OpenID", "read.dateOfBirth"] {
      #expect(PartnerGrant(either: text) == nil)
    }
    #expect(PartnerGrant.all.count == 15)
    for (grant, word) in zip(
      PartnerGrant.all.suffix(3), ["read.profile", "read.cards", "openid"])
    {
      #expect(grant.text == word && grant.wire == word && grant.data == nil)
      #expect(PartnerGrant(either: word) == grant)
    }
  }

  @Test("Freedom ID grants are requested once each and in table order, whatever their spelling")
  func asked() throws {
    let words = [
      "read.emails", "read.date_of_birth", "read.firstname", "read.data_of_birth",
      "read.firstname",
    ]
    let provider = ProviderName("freedom")
    #expect(try words.dataGrants(at: provider) == [.dateOfBirth, .firstname, .emails])
    #expect(
      try (words + ["openid", "read.profile"]).partnerGrants(at: provider)
        == [.data(.dateOfBirth), .data(.firstname), .data(.emails), .profile, .openid])
    let empty = Failure.emptyGrants(provider)
    #expect(throws: empty) { try [String]().dataGrants(at: provider) }
    #expect(throws: empty) { try [String]().partnerGrants(at: provider) }
    #expect(throws: Failure.invalid("grant \"openid\" does not exist", provider)) {
      try ["read.phone", "openid"].dataGrants(at: provider)
    }
    #expect(throws: Failure.invalid("grant \"ab\" does not exist", provider)) {
      try ["read.phone", "a\u{202E}b"].partnerGrants(at: provider)
    }
  }

  @Test(
    "a Freedom ID grant opens its own profile member and no other",
    arguments: DataGrant.allCases)
  func opens(grant: DataGrant) throws {
    var wire: [String: JSONValue] = ["ssn": "1", "id": "x"]
    for other in DataGrant.allCases {
      wire[other.field] = other.isList ? ["one", "two"] : "text"
    }
    let profile = try FreedomGrantedProfile(wire, granted: [grant])
    #expect(profile.members == [grant.member: grant.isList ? ["one", "two"] : "text"])
    #expect(try FreedomGrantedProfile([:], granted: [grant]).members == [grant.member: nil])
    #expect(try FreedomGrantedProfile(wire, granted: []).members.isEmpty)
  }

  @Test(
    "a granted Freedom ID member must have its type and size, and its text is cleaned",
    arguments: DataGrant.allCases)
  func types(grant: DataGrant) throws {
    let bad: [JSONValue] =
      grant.isList
      ? ["text", 1, [1], ["a", nil], .array(Array(repeating: "a", count: 65)), [:]]
      : [1, true, [], ["a"], [:], .string(String(repeating: "a", count: 1025))]
    for value in bad {
      #expect(throws: UnusableReply.self) {
        try FreedomGrantedProfile([grant.field: value], granted: [grant])
      }
    }
    let dirty: JSONValue = grant.isList ? ["a\u{1B}[0m"] : "a\u{1B}[0m"
    let clean: JSONValue = grant.isList ? ["a[0m"] : "a[0m"
    let profile = try FreedomGrantedProfile([grant.field: dirty], granted: [grant])
    #expect(profile.members == [grant.member: clean])
  }
}
