import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("Verify with GoPay: a server that repeats what another call told it")
struct IdentityEchoTests {
  private static let secrets = ["linking-secret", "capture-secret", "auth-code-secret"]

  /// Everything about a flow that its owner is shown of problems and ends.
  private func told(_ driven: Driven) -> String {
    "\(String(describing: driven.failure)) \(String(describing: driven.problem))"
  }

  private func expectSilence(_ driven: Driven) {
    #expect(told(driven).contains("refused"), "\(told(driven))")
    for secret in Self.secrets { #expect(!told(driven).contains(secret)) }
  }

  @Test("in a refusal of the capture page, or of the question how it stands")
  func refusal() throws {
    let cause = "refused " + Self.secrets.joined(separator: " ")
    var driven = try Driven(.none, token: "linking-secret")
    driven.answered(data: ["token": "capture-secret"])
    var early = driven
    early.refused(404, 1519, cause)
    #expect(!told(early).contains("linking-secret") && early.failure != nil)
    driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    driven.receive(.woken)
    driven.refused(422, 7, "refused linking-secret capture-secret")
    expectSilence(driven)
  }

  @Test("in another spelling")
  func spelled() throws {
    for spelling in ["linking%2Dsecret", "LINKING-SECRET", "linking&#45;secret"] {
      var driven = try Driven(.none, token: "linking-secret")
      driven.toPage()
      driven.receive(.woken)
      driven.refused(422, 7, "refused \(spelling)")
      #expect(driven.failure != nil)
      #expect(!told(driven).contains(spelling))
    }
  }

  @Test("in the word for a capture that failed")
  func failedCapture() throws {
    var driven = try Driven(.none, token: "linking-secret")
    driven.toPage()
    driven.receive(.woken)
    driven.answered(data: [
      "submissionId": "sub-1", "status": "FAILED", "error": "API",
      "message": "refused linking-secret capture-secret",
    ])
    expectSilence(driven)
  }

  @Test("and short words are left as they are")
  func short() throws {
    var driven = try Driven(.none, token: "refused")
    driven.toPage()
    driven.receive(.woken)
    driven.refused(422, 7, "refused for today")
    #expect(driven.failure?.message.contains("refused for today") == true)
  }
}
