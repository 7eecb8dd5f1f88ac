import JSONRPC
import Testing
import UsherTestKit

/// Sign-in by the QR code that a site shows.
@Suite("BSA sign-in by QR code", .mayBlock, .timeLimit(.minutes(10)))
struct SignQRTests {
  private let fixture: BSAFixture

  init() throws {
    fixture = try BSAFixture()
    try fixture.registered()
  }

  private func type(_ text: String, to flow: JSONValue) throws -> JSONValue {
    try fixture.submit(["type": "fillForm", "fields": ["qrId": .string(text)]], to: flow)
  }

  @Test("a QR id of a site, entered and approved by passcode, completes a BSA sign-in")
  func typed() throws {
    let flow = try fixture.asked(fixture.authenticate("qr"), for: "fillForm")
    #expect(flow.state == "scan")
    let fields = flow["step"]?["fields"]?.arrayValue ?? []
    #expect(fields.map { $0["name"] } == ["qrId"] && fields[0]["required"] == true)
    let visit = try fixture.visit("qr")
    let asked = try type(fixture.qrID(visit), to: flow)
    #expect(asked.state == "localAuth" && asked.stepType == "localAuth", "\(asked.text)")
    let end = try fixture.app.finished(fixture.prove(asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.states(of: end) == ["scan", "localAuth", "starting", "completing"])
    let seen = try fixture.atSite(visit)
    #expect(seen["state"] == "completed" && seen["userKey"] == "alice.01" && seen["by"] == "qr")
    #expect(seen["localAuth"] == true && seen["collected"] == true, "\(seen.text)")
    let token = try fixture.token(of: end.account)
    #expect(try fixture.owner(of: token["accessToken"]?.stringValue ?? "") == "alice.01")
    #expect(try fixture.requests("authExist") == 0, "a sign-in by QR code does not poll")
  }

  @Test(
    "an unknown BSA QR id or another app's is reported as qr_invalid; then the right one works")
  func wrongThenRight() throws {
    var flow = try fixture.asked(fixture.authenticate("qr"), for: "fillForm")
    let other = try fixture.qrID(fixture.visit("qr", client: "other"))
    for (text, code) in [("qr_nobody_has_it", "5023"), (other, "5024")] {
      // One local authentication counts for the whole flow.
      let asked = try type(text, to: flow)
      flow = code == "5023" ? try fixture.prove(asked) : asked
      #expect(flow.state == "scan" && flow.stepType == "fillForm", "\(flow.text)")
      #expect(flow.problem == ["qr_invalid", code])
    }
    let visit = try fixture.visit("qr")
    let asked = try type(fixture.qrID(visit), to: flow)
    #expect((asked["problem"] ?? .null) == .null)
    #expect(try fixture.app.finished(asked)["status"] == "succeeded")
    #expect(try fixture.atSite(visit)["state"] == "completed")
  }
}
