import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

@Suite("Profile members by consent", .timeLimit(.minutes(10)))
struct ConsentTests {
  private let harness: ConsentHarness

  init() throws { harness = try ConsentHarness() }

  @Test("a profile member is shown only to a client with consent for it")
  func eachItsOwn() async throws {
    try await harness.persist(.consented(["firstname": "Ada"]), for: "till")
    let record = try await harness.persist(.consented(["email": "ada@x.example"]), for: "desk")
    #expect(try harness.profile(record, to: "till") == ["firstname": "Ada"])
    #expect(try harness.profile(record, to: "desk") == ["email": "ada@x.example"])
    for other in ["other", nil] { #expect(try harness.profile(record, to: other) == nil) }
    #expect(try harness.profile(record, to: nil, isAdmin: true) == nil)
    #expect(try harness.repository.accounts(of: .anna).count == 1)
  }

  @Test("programs without a rule need consent, and count together as one client")
  func ownPrograms() async throws {
    let record = try await harness.persist(.consented(["firstname": "Ada"]), for: "(user)")
    #expect(try harness.profile(record, to: nil) == ["firstname": "Ada"])
    #expect(try harness.profile(record, to: "till") == nil)
  }

  @Test("a consent ends at its expiry time, even before the sweep deletes it")
  func expiry() async throws {
    let end = harness.clock.now() + .seconds(60)
    let record = try await harness.persist(.consented(["firstname": "Ada"], until: end))
    harness.clock.time = end - .milliseconds(1)
    #expect(try harness.profile(record, to: "till") == ["firstname": "Ada"])
    harness.clock.time = end
    #expect(try harness.profile(record, to: "till") == nil)
    #expect(harness.repository.record(record.id)?.details.profile == ["firstname": "Ada"])
  }

  @Test("a repeated consent is renewed and remains one row")
  func renewal() async throws {
    let (first, second) = (harness.clock.now() + .seconds(60), harness.clock.now() + .seconds(3600))
    try await harness.persist(.consented(["firstname": "Ada"], until: first))
    harness.clock.advance(by: .seconds(30))
    let record = try await harness.persist(.consented(["firstname": "Ada"], until: second))
    harness.clock.time = first
    #expect(try harness.profile(record, to: "till") == ["firstname": "Ada"])
    let rows = try harness.harness.store.loadConsents()
    #expect(rows.map(\.expiresAt) == [second])
    #expect(record.consents.entries.values.map(\.grantedAt) == [first - .seconds(30)])
  }

  @Test("a later consent adds to the profile, and members without any consent are not stored")
  func merging() async throws {
    try await harness.persist(
      .consented(
        ["firstname": "Ada", "email": "old@x.example", "phone": "secret"],
        granted: ["firstname", "email"]))
    let record = try await harness.persist(.consented(["email": "new@x.example"]))
    let expected: [String: JSONValue] = ["firstname": "Ada", "email": "new@x.example"]
    #expect(record.details.profile == expected)
    #expect(try harness.stored(record.id)?.details.profile == expected)
    let unnamed = try await harness.persist(.consented(nil))
    #expect(unnamed.details.profile == expected)
  }

  @Test("an account by consent stays one, even if a later sign-in brings a profile without consent")
  func forGood() async throws {
    try await harness.persist(.consented(["firstname": "Ada"]))
    var grant = AccountGrant(
      subject: "usr_anna", label: "anna", profile: ["firstname": "Ada", "ssn": "1"], tokens: nil)
    let record = try await harness.persist(grant, for: "other")
    #expect(record.details.isByConsent)
    #expect(try harness.profile(record, to: "other") == nil)
    #expect(record.details.profile == ["firstname": "Ada"])
    grant.subject = "usr_bert"
    let open = try await harness.persist(grant, for: "other")
    #expect(try harness.profile(open, to: "till") == ["firstname": "Ada", "ssn": "1"])
  }

  @Test("a grant without a profile member is stored as a consent like any other")
  func memberless() async throws {
    var grant = AccountGrant.consented(["firstname": "Ada"])
    grant.consents.append(ConsentGrant(grant: "write", member: nil, expiresAt: .latest))
    let record = try await harness.persist(grant)
    #expect(
      record.consents.grants(of: "till", at: harness.clock.now()) == ["read.firstname", "write"])
    #expect(try harness.profile(record, to: "till") == ["firstname": "Ada"])
  }

  @Test("consents read from the store equal those that were stored")
  func restored() async throws {
    try await harness.persist(.consented(["firstname": "Ada"]), for: "till")
    let record = try await harness.persist(.consented(["email": "a@x.example"]), for: "(user)")
    let back = try #require(try harness.stored(record.id))
    #expect(back.consents == record.consents)
    #expect(back.details == record.details)
    #expect(back.consents.entries.count == 2)
    #expect(back.consents.entries.values.allSatisfy { $0.grantedBy == 1000 })
  }

  @Test("an account remembers the first client that signed it in")
  func broughtBy() async throws {
    try await harness.persist(.consented(["firstname": "Ada"]), for: "till")
    let record = try await harness.persist(.consented(["email": "a@x.example"]), for: "desk")
    #expect(record.details.broughtBy == "till")
    #expect(try harness.stored(record.id)?.details.broughtBy == "till")
  }

  @Test("no event contains a profile member, a grant or a client name")
  func events() async throws {
    let record = try await harness.persist(.consented(["firstname": "Ada"]))
    let session = try await harness.harness.open(client: "till")
    await harness.harness.type("store", session)
    _ = try await harness.consents.revoke(ConsentRevoke(account: record.id), .program())
    let events = harness.harness.events.listen(since: 0) { _ in }.past.map(\.event)
    #expect(events.map(\.what).contains("added"))
    #expect(events.count > 3)
    for event in events {
      let text = String(decoding: try ReplyEncoder.encode(event), as: UTF8.self)
      for word in ["firstname", "Ada", "read.", "till"] { #expect(!text.contains(word), "\(text)") }
    }
  }
}

@Suite("Stored accounts", .timeLimit(.minutes(10)))
struct StoredAccountTests {
  /// The details as a version without consents wrote them.
  private static let older = """
    {"attributes":{"a":1},"createdAt":"2027-01-15T08:00:00Z","grant":{"refreshToken":"r-1",\
    "scope":"openid"},"keepAlive":true,"label":"anna","profile":{"name":"Anna"}}
    """

  @Test("an account row written before consents existed is read as not by consent")
  func older() throws {
    let details = try SealedPayload(Array(Self.older.utf8)).decoded(as: AccountDetails.self)
    #expect(details.label == "anna" && details.keepAlive)
    #expect(details.profile == ["name": "Anna"])
    #expect(!details.isByConsent && !details.tokensAreInternal && details.broughtBy == nil)
    #expect(details.grant.refreshToken == Sealed(Secret("r-1")))
    #expect(details.authenticator == nil)
  }

  @Test("every member of the stored account details is written and read back")
  func wholly() throws {
    let details = AccountDetails(
      label: "anna", attributes: ["a": 1], profile: ["name": "Anna"], keepAlive: true,
      createdAt: Timestamp(seconds: 1_800_000_000), isByConsent: true, tokensAreInternal: true,
      broughtBy: "till",
      authenticator: .init(
        secret: Sealed(Secret("GEZDGNBV")), givenUntil: ["till": Timestamp(seconds: 60)]),
      place: ProviderConfig.local.tokenPlace, signIn: SignInClaims(),
      signInOptions: SignInOptions(kind: "device"), grant: .init(scope: "openid"))
    let payload = try SealedPayload(encoding: details)
    #expect(try payload.decoded(as: AccountDetails.self) == details)
    let json = try JSONValue(parsing: payload.bytes)
    #expect(json.objectValue?.count == Mirror(reflecting: details).children.count)
  }
}
