import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("The probe of BSA")
struct BSAProbeTests {
  private func probe() throws -> ProviderProbe {
    try #require(BSAParts.provider().definition.probe)
  }

  @Test("BSA's probe asks for the device whose id is all zeros")
  func asks() throws {
    let probe = try probe()
    #expect(probe.subject == "device_check")
    let call = probe.call as? BSACall
    #expect(call == .deviceCheck(device: "00000000-0000-0000-0000-000000000000"))
  }

  @Test("BSA's probe reports an accepted client key, or why the key could not be checked")
  func judges() throws {
    let answers: [(CallOutcome, Bool, String)] = [
      (BSAParts.said(["userKey": "ada1"]), true, "it accepts the client key"),
      (BSAParts.said(status: 500), true, "it accepts the client key"),
      (BSAParts.refusal(2008), true, "it accepts the client key"),
      (BSAParts.refusal(3007), true, "it accepts the client key"),
      (
        BSAParts.refusal(4242), false,
        "it answers 4242: the provider refuses for a reason that has no name"
      ),
      (BSAParts.refusal(2000), false, "it answers 2000: the client key is not known"),
      (BSAParts.refusal(2012), false, "it answers 2012: the server is being maintained"),
      (BSAParts.gone, false, "gone"),
      (BSAParts.failing(503), false, "the provider answers HTTP 503"),
      (BSAParts.failing(404), false, "the provider's answer (HTTP 404) has no rtCode"),
      (.unreadable(message: "a redirect"), false, "a redirect"),
    ]
    for (outcome, fine, message) in answers {
      let found = try probe().evaluate(outcome)
      #expect(found.fine == fine && found.message == message)
    }
  }

  @Test("BSA's probe accepts only refusals about the device that it asks for")
  func refusals() throws {
    for entry in RTCode.table where entry.code != .done {
      let found = try probe().evaluate(BSAParts.refusal(entry.code.number))
      #expect(found.fine == [2002, 2007, 2008, 3006, 3007].contains(entry.code.number))
    }
  }
}
