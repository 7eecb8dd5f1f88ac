import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of flows on the wire")
struct FlowMethodTests {
  private let reply = #"{"flow":\#(plainFlowJSON)}"#

  @Test("flow.start")
  func start() {
    checkWire(
      FlowStart(provider: ProviderName("work"), kind: "authorize", params: [:]),
      #"{"provider":"work","kind":"authorize","params":{}}"#)
    checkWire(
      FlowStart(
        provider: ProviderName("work"), kind: "device", params: ["scope": "openid", "maxAge": 5],
        requestId: "r-1", waitMs: 60_000),
      """
      {"provider":"work","kind":"device","params":{"scope":"openid","maxAge":5},"requestId":"r-1",
       "waitMs":60000}
      """)
    checkWire(FlowStart.Reply(flow: plainFlow), reply)
  }

  @Test("flow.submit")
  func submit() {
    checkWire(
      FlowSubmit(
        flow: FlowID("flw_1"), revision: 3, input: ["type": "enterCode", "code": "123456"]),
      #"{"flow":"flw_1","revision":3,"input":{"type":"enterCode","code":"123456"}}"#)
    checkWire(
      FlowSubmit(flow: FlowID("flw_1"), revision: 3, input: [:], waitMs: 0),
      #"{"flow":"flw_1","revision":3,"input":{},"waitMs":0}"#)
    checkWire(FlowSubmit.Reply(flow: plainFlow), reply)
  }

  @Test("flow.submit prints without what was typed")
  func submitPrints() {
    let submit = FlowSubmit(
      flow: FlowID("flw_1"), revision: 3, input: ["type": "enterPassword", "password": "hunter2"])
    var dumped = ""
    dump([submit], to: &dumped)
    for way in [dumped, "\(submit)", "\([submit])", String(reflecting: submit)] {
      #expect(way.contains("flw_1"))
      #expect(!way.contains("hunter2"))
    }
  }

  @Test("flow.get and flow.cancel")
  func getAndCancel() {
    checkWire(FlowGet(flow: FlowID("flw_1")), #"{"flow":"flw_1"}"#)
    checkWire(FlowGet.Reply(flow: plainFlow), reply)
    checkWire(FlowCancel(flow: FlowID("flw_1")), #"{"flow":"flw_1"}"#)
    checkWire(FlowCancel.Reply(flow: plainFlow), reply)
  }

  @Test("flow.list")
  func list() {
    checkWire(FlowList(), "{}")
    checkWire(
      FlowList(provider: ProviderName("work"), kind: "sca", key: "e-1", status: .succeeded),
      #"{"provider":"work","kind":"sca","key":"e-1","status":"succeeded"}"#)
    checkWire(FlowList.Reply(flows: []), #"{"flows":[]}"#)
    checkWire(FlowList.Reply(flows: [plainFlow]), #"{"flows":[\#(plainFlowJSON)]}"#)
  }

  @Test("flow.wait")
  func wait() {
    checkWire(
      FlowWait(flow: FlowID("flw_1"), revision: 1, timeoutMs: 30_000),
      #"{"flow":"flw_1","revision":1,"timeoutMs":30000}"#)
    checkWire(
      FlowWait.Reply(
        flow: plainFlow, transitions: [Transition(revision: 2, state: "challenged", at: later)]),
      """
      {"flow":\(plainFlowJSON),
       "transitions":[{"revision":2,"state":"challenged","at":"\(laterJSON)"}]}
      """)
    checkWire(
      FlowWait.Reply(flow: plainFlow, transitions: []),
      #"{"flow":\#(plainFlowJSON),"transitions":[]}"#)
  }
}
