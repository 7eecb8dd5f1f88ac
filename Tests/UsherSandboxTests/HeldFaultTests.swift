import Testing
import UsherTestKit

@testable import UsherSandbox

@Suite("Faults that hold a request", .timeLimit(.minutes(10)))
struct HeldFaultTests {
  private let traffic = Traffic(clock: SandboxClock())
  private let endpoint = Endpoint("token", .post, "/token") { _ in Reply(status: 200) }

  /// Adds a fault rule that holds one request, sends a request and waits until it is logged.
  private func heldRequest() async throws -> (rule: String, answer: Task<Delivery, Never>) {
    var fault = Fault()
    fault.held = true
    let rule = await traffic.add(FaultRule(endpoint: "token", fault: fault, times: 1))
    let seen = await traffic.requests(endpoint: "token", grantType: nil).count
    let answer = Task { [traffic, endpoint] in
      await traffic.handle(EndpointCall(.post, "/token", base: ""), to: endpoint)
    }
    try await reached("the request is logged") {
      await traffic.requests(endpoint: "token", grantType: nil).count > seen
    }
    return (try #require(rule), answer)
  }

  @Test(
    "a held request is answered when its fault rule is deleted, by id or together with all rules")
  func deleted() async throws {
    for deletesAll in [false, true] {
      let (rule, answer) = try await heldRequest()
      #expect(await traffic.requests(endpoint: "token", grantType: nil).last?.status == nil)
      #expect(await traffic.rules().isEmpty)
      if deletesAll {
        await traffic.removeAllRules()
      } else {
        #expect(await traffic.removeRule(rule))
      }
      #expect(await answer.value.status == 200)
      #expect(await !traffic.removeRule(rule))
    }
  }

  @Test("a held request is answered when its task is cancelled, as it is when the sandbox stops")
  func stopped() async throws {
    let (_, answer) = try await heldRequest()
    answer.cancel()
    #expect(await answer.value.status == 200)
  }
}
