import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("GoPay replies that repeat the secrets of another call")
struct IdentityEchoTests {
  private static let secrets = ["linking-secret", "capture-secret", "auth-code-secret"]

  /// Returns the failure and the problem that the flow's owner is shown.
  private func told(_ driven: Driven) -> String {
    "\(String(describing: driven.failure)) \(String(describing: driven.problem))"
  }

  private func expectSilence(_ driven: Driven) {
    #expect(told(driven).contains("refused"), "\(told(driven))")
    for secret in Self.secrets { #expect(!told(driven).contains(secret)) }
  }

  @Test("a GoPay capture refusal that repeats a secret of another call is shown without it")
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

  @Test("a secret that a GoPay refusal repeats in another spelling is not shown")
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

  @Test("a failed GoPay capture whose message repeats a secret is shown without it")
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

  @Test("a word of a GoPay refusal stays if it equals a token that is too short to be a secret")
  func short() throws {
    var driven = try Driven(.none, token: "refused")
    driven.toPage()
    driven.receive(.woken)
    driven.refused(422, 7, "refused for today")
    #expect(driven.failure?.message.contains("refused for today") == true)
  }
}
