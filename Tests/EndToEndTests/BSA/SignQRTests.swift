import JSONRPC
import Testing
import UsherTestKit

/// What the person's camera read at a site.
@Suite("BSA: sign-in by QR code", .mayBlock, .timeLimit(.minutes(10)))
struct SignQRTests {
  private let scene: BSAScene

  init() throws {
    scene = try BSAScene()
    try scene.registered()
  }

  private func type(_ text: String, to flow: JSONValue) throws -> JSONValue {
    try scene.submit(["type": "fillForm", "fields": ["qrId": .string(text)]], to: flow)
  }

  /// The flow after the person has proved to be there, which is once a flow.
  private func proven(_ flow: JSONValue) throws -> JSONValue {
    flow.stepType == "localAuth" ? try scene.prove(flow) : flow
  }

  @Test("an id that is typed: scan, local authentication, the token")
  func typed() throws {
    let flow = try scene.asked(scene.authenticate("qr"), for: "fillForm")
    #expect(flow.state == "scan")
    let fields = flow["step"]?["fields"]?.arrayValue ?? []
    #expect(fields.map { $0["name"] } == ["qrId"] && fields[0]["required"] == true)
    let visit = try scene.visit("qr")
    let asked = try type(scene.qrID(visit), to: flow)
    #expect(asked.state == "localAuth" && asked.stepType == "localAuth", "\(asked.text)")
    let end = try scene.app.finished(scene.prove(asked))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.states(of: end) == ["scan", "localAuth", "starting", "completing"])
    let seen = try scene.atSite(visit)
    #expect(seen["state"] == "completed" && seen["userKey"] == "alice.01" && seen["by"] == "qr")
    #expect(seen["localAuth"] == true && seen["collected"] == true, "\(seen.text)")
    let token = try scene.token(of: end.account)
    #expect(try scene.owner(of: token["accessToken"]?.stringValue ?? "") == "alice.01")
    #expect(try scene.requests("authExist") == 0, "nothing is polled")
  }

  @Test("an id that is given with the flow is not asked for")
  func given() throws {
    let visit = try scene.visit("qr")
    let flow = try scene.asked(
      scene.authenticate("qr", ["qrId": .string(scene.qrID(visit))]))
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.states(of: end) == ["localAuth", "starting", "completing"])
    #expect(try scene.atSite(visit)["state"] == "completed")
  }

  @Test(
    "unknown ones and those of other apps are problems where they were typed, then the right one")
  func wrongThenRight() throws {
    var flow = try scene.asked(scene.authenticate("qr"), for: "fillForm")
    let other = try scene.qrID(scene.visit("qr", client: "other"))
    for (text, code) in [("qr_nobody_has_it", "5023"), (other, "5024")] {
      // Once is enough: the proof stands while the flow does.
      let asked = try type(text, to: flow)
      flow = code == "5023" ? try scene.prove(asked) : asked
      #expect(flow.state == "scan" && flow.stepType == "fillForm", "\(flow.text)")
      #expect(flow.problem == ["qr_invalid", code])
    }
    let visit = try scene.visit("qr")
    let asked = try type(scene.qrID(visit), to: flow)
    #expect((asked["problem"] ?? .null) == .null)
    #expect(try scene.app.finished(asked)["status"] == "succeeded")
    #expect(try scene.atSite(visit)["state"] == "completed")
  }

  @Test("where the id was given nobody can type a better one: it is the end")
  func wrongGiven() throws {
    let other = try scene.qrID(scene.visit("qr", client: "other"))
    for (text, code) in [("qr_nobody_has_it", "5023"), (other, "5024")] {
      let flow = try scene.asked(scene.authenticate("qr", ["qrId": .string(text)]))
      let end = try scene.app.finished(scene.prove(flow))
      #expect(end.failure == ["provider_rejected", code, nil], "\(end.text)")
    }
  }

  @Test("an id whose time is over is 5023, one that was given up 5011")
  func over() throws {
    var flow = try scene.asked(scene.authenticate("qr"), for: "fillForm")
    let late = try scene.visit("qr")
    let text = try scene.qrID(late)
    try scene.timeOut(late)
    flow = try proven(type(text, to: flow))
    #expect(flow.problem == ["qr_invalid", "5023"], "\(flow.text)")
    let left = try scene.visit("qr")
    let other = try scene.qrID(left)
    try scene.leave(left)
    let end = try scene.app.finished(type(other, to: flow))
    #expect(end.failure == ["denied", "5011", nil], "\(end.text)")
  }

  @Test("what no QR code says is not taken, and changes nothing")
  func impossible() throws {
    let flow = try scene.asked(scene.authenticate("qr"), for: "fillForm")
    let inputs: [(JSONValue, String)] = [
      (["qrId": ""], "input.fields.qrId"), (["qrId": "two words"], "input.fields.qrId"),
      (["qrId": "ключ"], "input.fields.qrId"),
      (["qrId": .string(String(repeating: "x", count: 4097))], "input.fields.qrId"),
      ([:], "input.fields.qrId"), (["qrId": "a", "pin": "1"], "input.fields.pin"),
    ]
    for (fields, field) in inputs {
      #expect(
        try scene.refusal(["type": "fillForm", "fields": fields], to: flow)
          == ["invalid_input", field])
    }
    #expect(try scene.refusal(["type": "enterCode", "code": "1"], to: flow)[0] != nil)
    #expect(try scene.flow(flow) == flow)
    for bad: JSONValue in ["", "two words"] {
      let end = try scene.app.finished(scene.authenticate("qr", ["qrId": bad]))
      #expect(end.failure[0] == "invalid_request", "\(end.text)")
    }
    #expect(try scene.requests("auth") == 0)
  }

  @Test("a flow that is cancelled in front of the passcode leaves the code at the site good")
  func cancelled() throws {
    let visit = try scene.visit("qr")
    let id = try scene.qrID(visit)
    let flow = try scene.asked(scene.authenticate("qr", ["qrId": .string(id)]))
    #expect(try scene.cancel(flow).failure == ["cancelled", "5011", nil])
    let next = try scene.asked(scene.authenticate("qr", ["qrId": .string(id)]))
    #expect(try scene.app.finished(scene.prove(next))["status"] == "succeeded")
    #expect(try scene.requests("authCancel") == 0)
  }
}
