import JSONRPC
import Testing
import UsherCore
import UsherSandbox

@testable import UsherFlows
@testable import UsherSimulator

/// Each test ends a flow as a faulty daemon would.
@Suite("The checks of the ends of flows in a simulation", .timeLimit(.minutes(1)))
struct FlowEndsTests {
  private let simulator = Simulator(seed: 1, kernel: SimulatedKernel(), print: nil)
  private let history: TokenHistory
  private let ends: FlowEnds

  init() {
    history = TokenHistory(simulator)
    ends = FlowEnds(simulator, history.provided)
  }

  private func flow(
    _ provider: String, _ kind: String, _ result: JSONValue, uid: UInt32 = 1001,
    params: JSONValue = [:]
  ) -> FollowedFlow {
    FollowedFlow(
      id: "flw_1", uid: uid, provider: provider, kind: kind, params: params,
      customer: "user\(uid)-1", view: ["status": "succeeded", "result": result])
  }

  private func found(_ text: String) -> Bool { simulator.finding?.contains(text) == true }

  @Test("a flow that succeeds without approval violates a property, and one that fails does not")
  func approval() {
    var failed = flow("demo", "device", [:])
    failed.view = ["status": "failed", "failure": ["reason": "denied"]]
    ends.end(failed)
    ends.approve("flw_1")
    ends.end(flow("demo", "device", [:]))
    #expect(simulator.finding == nil)
    var other = flow("demo", "device", [:])
    other.id = "flw_2"
    ends.end(other)
    #expect(found("flw_2 of 1001 succeeded although nobody approved it"))
    #expect(ends.counts == ["demo device failed denied": 1, "demo device succeeded": 2])
  }

  @Test("a large payment needs approval, and a small one does not", arguments: ["0.50", "2.00"])
  func payment(amount: String) {
    history.provided.record("pay_1", owner: 1001)
    ends.end(
      flow(
        "paysafe", "operation", ["status": 201, "body": ["paymentId": "pay_1"]],
        params: ["method": "POST", "body": ["amount": .string(amount)]]))
    #expect((simulator.finding == nil) == (amount == "0.50"))
  }

  @Test("a result that no provider gave, or that it gave to another user, violates a property")
  func results() {
    ends.approve("flw_1")
    history.provided.record("sub_1", owner: 1001)
    ends.end(flow("gopay-app", "verify", ["submissionId": "sub_1"]))
    #expect(simulator.finding == nil)
    ends.end(flow("gopay-app", "verify", ["submissionId": "sub_1"], uid: 1002))
    #expect(found("shows sub_1, which the provider did not give"))
  }
}
