import JSONRPC
import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Partial grants", .timeLimit(.minutes(10)))
struct PartialGrantTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  private func known() -> AccountGrant {
    var grant = AccountGrant(
      subject: "ada", label: "Ada", attributes: ["localAuthType": "PASSCODE", "pushToken": "new"],
      profile: ["name": "Ada"], tokens: .sample())
    grant.totpSecret = Sealed(Secret("GEZDGNBVGY3TQOJQ"))
    return grant
  }

  @Test("a partial grant replaces the tokens only, not attributes, profile, label and TOTP secret")
  func partial() async throws {
    _ = try await harness.repository.persist(known())
    var grant = AccountGrant(subject: "ada", label: "•••", tokens: .sample())
    grant.isPartial = true
    let record = try await harness.repository.persist(grant)
    #expect(record.details.attributes == ["localAuthType": "PASSCODE", "pushToken": "new"])
    #expect(record.details.profile == ["name": "Ada"] && record.details.label == "Ada")
    #expect(record.details.authenticator != nil && record.tokens.count == 1)
  }

  @Test("a complete grant replaces the account's attributes, profile and label")
  func whole() async throws {
    _ = try await harness.repository.persist(known())
    let record = try await harness.repository.persist(
      AccountGrant(subject: "ada", label: "A.", attributes: ["a": 1], tokens: .sample()))
    #expect(record.details.attributes == ["a": 1])
    #expect(record.details.profile == nil && record.details.label == "A.")
  }

  @Test("a null attribute of a grant removes the account's attribute and is not stored")
  func removed() async throws {
    _ = try await harness.repository.persist(known())
    let attributes: [String: JSONValue] = ["pushToken": .null, "deviceId": .null]
    let record = try await harness.repository.persist(
      AccountGrant(subject: "ada", label: "Ada", attributes: attributes, tokens: nil))
    #expect(record.details.attributes == ["localAuthType": "PASSCODE"])
  }

  @Test("a grant that drops the TOTP secret keeps the account's tokens")
  func secret() async throws {
    _ = try await harness.repository.persist(known())
    var grant = AccountGrant(subject: "ada", label: "Ada", tokens: nil)
    grant.dropsTOTPSecret = true
    let record = try await harness.repository.persist(grant)
    #expect(record.details.authenticator == nil && record.tokens.count == 1)
  }
}
