import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// The account of the client itself has the client id as its subject (RFC 9068 §2.2), which the
/// provider may also have given to a person.
@Suite("The account of the client itself", .mayBlock, .timeLimit(.minutes(10)))
struct ClientAccountTests {
  private static let clientID = "usher"

  private let fixture: TokenFixture

  init() throws { fixture = try TokenFixture { $0.clientCredentialsGrant = true } }

  private func signIn(
    _ accessToken: String, isOfClient: Bool, isByAssertion: Bool = false,
    identity: AccountID? = nil, scope: String = "openid profile"
  ) async throws -> AccountRecord {
    let end = fixture.clock.now() + .seconds(300)
    var grant = AccountGrant.sample(
      Self.clientID,
      tokens: .sample(
        accessToken, refreshToken: isOfClient ? nil : "refresh-1", expiresAt: end, scope: scope))
    grant.isOfClient = isOfClient
    grant.isByAssertion = isByAssertion
    grant.identity = identity
    return try await fixture.repository.persist(grant)
  }

  private func token(of record: AccountRecord) async -> String {
    await fixture.outcome(TokenGet(account: record.id))
  }

  /// A repository that reads the accounts from disk.
  private var reread: AccountRepository {
    AccountRepository(
      dependencies: fixture.harness.dependencies, events: EventBus(historyLimit: 1),
      store: fixture.harness.store)
  }

  @Test(
    "a person whose subject is the client id has an account of its own, whoever comes first",
    arguments: [true, false])
  func apart(clientIsFirst: Bool) async throws {
    let first = try await signIn("access-1", isOfClient: clientIsFirst)
    let second = try await signIn("access-2", isOfClient: !clientIsFirst)
    #expect(first.id != second.id)
    #expect(await token(of: first) == "access-1")
    #expect(await token(of: second) == "access-2")
    for record in [first, second] {
      let stored = try #require(try reread.find(record.id))
      #expect(stored.subject == Self.clientID)
      #expect(stored.details.grant.isOfClient == record.details.grant.isOfClient)
    }
    await fixture.close()
  }

  @Test(
    "an account by assertion about the client id is not the client's own account",
    arguments: [true, false])
  func byAssertion(clientIsFirst: Bool) async throws {
    // One has less scope than the other, so that the later of one account would be dropped.
    let scopes = ["openid", "openid profile"]
    let first = try await signIn(
      "access-1", isOfClient: true, isByAssertion: !clientIsFirst, scope: scopes[1])
    let second = try await signIn(
      "access-2", isOfClient: true, isByAssertion: clientIsFirst, scope: scopes[0])
    #expect(first.id != second.id)
    #expect(await token(of: first) == "access-1")
    #expect(await token(of: second) == "access-2")
    for record in [first, second] {
      let stored = try #require(try reread.find(record.id))
      #expect(stored.subject == Self.clientID)
      #expect(stored.details.grant.isByAssertion == record.details.grant.isByAssertion)
    }
    let again = try await signIn("access-3", isOfClient: true, isByAssertion: clientIsFirst)
    #expect(again.id == second.id)
    await fixture.close()
  }

  @Test("an account by another provider's assertions is not the client's own, nor by assertion")
  func byIdentity() async throws {
    let identity = AccountID("acc_corp")
    let ofClient = try await signIn("access-1", isOfClient: true)
    let byAssertion = try await signIn("access-2", isOfClient: true, isByAssertion: true)
    let byIdentity = try await signIn("access-3", isOfClient: true, identity: identity)
    #expect(Set([ofClient.id, byAssertion.id, byIdentity.id]).count == 3)
    #expect(try await signIn("access-4", isOfClient: true, identity: identity).id == byIdentity.id)
    #expect(await token(of: ofClient) == "access-1")
    #expect(await token(of: byAssertion) == "access-2")
    #expect(await token(of: byIdentity) == "access-4")
    #expect(try reread.find(byIdentity.id)?.subject == Self.clientID)
    await fixture.close()
  }

  @Test("an assertion of another account at the identity provider replaces the grant of the first")
  func otherIdentity() async throws {
    func signIn(_ identity: String, scope: String) async throws -> AccountRecord {
      let end = fixture.clock.now() + .seconds(300)
      var grant = AccountGrant.sample(
        "ada", tokens: .sample("access-1", refreshToken: nil, expiresAt: end, scope: scope))
      grant.isOfClient = true
      grant.identity = AccountID(identity)
      return try await fixture.repository.persist(grant)
    }
    let first = try await signIn("acc_1", scope: "a b")
    // Less scope by the same account keeps the grant.
    #expect(try await signIn("acc_1", scope: "a").details.grant.scope == "a b")
    let second = try await signIn("acc_2", scope: "a")
    #expect(second.id == first.id && second.details.grant.identity == AccountID("acc_2"))
    #expect(second.details.grant.scope == "a")
    await fixture.close()
  }

  @Test("each of the two is updated by its own next sign-in")
  func updated() async throws {
    let client = try await signIn("access-1", isOfClient: true)
    let person = try await signIn("access-2", isOfClient: false)
    #expect(try await signIn("access-3", isOfClient: true).id == client.id)
    #expect(try await signIn("access-4", isOfClient: false).id == person.id)
    #expect(await token(of: client) == "access-3")
    #expect(await token(of: person) == "access-4")
    await fixture.close()
  }

  /// Stores the client's account in the form of version 0.1.1, with the client id as its subject.
  private func storeInOldForm() async throws -> AccountRecord {
    let record = try await signIn("access-1", isOfClient: true)
    var row = try record.row()
    row.subject = Self.clientID
    try await fixture.harness.store.commit([.putAccount(row)])
    let stored = try #require(try reread.find(record.id))
    #expect(stored.subject == Self.clientID && stored.details.grant.isOfClient == true)
    return record
  }

  @Test("an account that an older version stored is updated by the client's next sign-in")
  func oldForm() async throws {
    let record = try await storeInOldForm()
    #expect(try await signIn("access-2", isOfClient: true).id == record.id)
    #expect(await token(of: record) == "access-2")
    await fixture.close()
  }

  @Test("an account that an older version stored is not taken over by a person")
  func oldFormAndPerson() async throws {
    let record = try await storeInOldForm()
    let person = try await signIn("access-2", isOfClient: false)
    #expect(person.id != record.id)
    #expect(await token(of: record) == "access-1")
    #expect(try await signIn("access-3", isOfClient: true).id == record.id)
    #expect(await token(of: person) == "access-2")
    #expect(try reread.find(record.id)?.subject == Self.clientID)
    await fixture.close()
  }
}
