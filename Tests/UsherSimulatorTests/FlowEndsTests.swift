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
    ends.approve(flow("demo", "device", [:]))
    ends.end(flow("demo", "device", [:]))
    #expect(simulator.finding == nil)
    var other = flow("demo", "device", [:])
    other.id = "flw_2"
    ends.end(other)
    #expect(found("flw_2 of 1001 succeeded although nobody approved it"))
    #expect(ends.counts == ["demo device failed denied": 1, "demo device succeeded": 2])
  }

  @Test("the approval of a failed flow counts once for the next one, only where it is kept")
  func keptApproval() {
    func flow(_ id: String, _ provider: String) -> FollowedFlow {
      var flow = self.flow(provider, "authorize", [:])
      flow.id = id
      return flow
    }
    ends.approve(flow("flw_1", "freedom-partner"))
    ends.end(flow("flw_2", "freedom-partner"))
    #expect(simulator.finding == nil)
    ends.end(flow("flw_3", "freedom-partner"))
    #expect(found("flw_3 of 1001 succeeded although nobody approved it"))
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
    history.provided.record("sub_1", owner: 1001)
    for uid in [UInt32(1001), 1002] {
      #expect(simulator.finding == nil)
      let flow = flow("gopay-app", "verify", ["submissionId": "sub_1"], uid: uid)
      ends.approve(flow)
      ends.end(flow)
    }
    #expect(found("shows sub_1, which the provider did not give"))
  }
}
