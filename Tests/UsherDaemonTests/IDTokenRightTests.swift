import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon

/// A flow may use the ID token of an account only if its client may have it at once.
@Suite("The right to an ID token in a flow", .timeLimit(.minutes(10)))
struct IDTokenRightTests {
  private static let cases:
    [(pattern: String, isAllowed: Bool, edit: @Sendable (inout ClientRule) throws -> Void)] = [
      ("token.get work/idToken", true, { _ in }), ("*", true, { _ in }),
      ("token.get work", false, { _ in }), ("token.get other/idToken", false, { _ in }),
      ("token.get work/idToken", false, { $0.confirm = true }),
      ("token.get work/idToken", false, { $0.requireLocalAuthSeconds = 60 }),
      ("token.get work/idToken", false, { $0.scopes = ["email"] }),
      ("token.get work/idToken", true, { $0.scopes = ["openid"] }),
      ("token.get work/idToken", true, { $0.audiences = ["https://api.example.com"] }),
      (
        "token.get work/idToken", false,
        { $0.accounts = [try AccountSelector(setting: "subject:usr_bert")] }
      ),
    ]

  @Test("it needs a rule for the kind idToken, without a person to ask", arguments: 0..<cases.count)
  func right(number: Int) async throws {
    let one = Self.cases[number]
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: [try AccessPattern(setting: one.pattern)])
    try one.edit(&rule)
    let caller = Caller(
      owner: .anna, policy: try Policy.of([rule]).caller(CallerIdentity(uid: 1000, gid: 1000)),
      isAdmin: false, label: "till")
    let fixture = try TokenFixture()
    let record = try await fixture.signIn()
    #expect(
      caller.mayHaveIDToken(of: record, fixture.harness.dependencies) == one.isAllowed,
      "\(number): \(one.pattern)")
    await fixture.close()
  }
}
