import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A number that the person types at a site: of the provider's, or of the account's TOTP secret.
@Suite("BSA: sign-in by a number", .mayBlock, .timeLimit(.minutes(10)))
struct SignNumberTests {
  /// A sign-in where it shows its number.
  private func shown(_ scene: BSAScene, _ way: String) throws -> JSONValue {
    let asked = try scene.asked(scene.authenticate(way))
    return try scene.asked(scene.prove(asked), for: "displayCode")
  }

  @Test(
    "the person is authenticated, reads the number, types it at the site, and is signed in",
    arguments: ["otp", "totp"])
  func wholeWay(way: String) throws {
    let clock = MovableClock()
    let scene = try BSAScene(["site_url": "\"https://login.example.com/here\""], clock: clock)
    let account = try scene.registered().account
    try clock.advance(toNextStepOf: 60)
    let flow = try shown(scene, way)
    #expect(flow.state == "pending", "\(flow.text)")
    #expect(flow["step"]?["verificationURI"] == "https://login.example.com/here")
    #expect(flow.shown.count == 6 && flow.shown.allSatisfy { "0123456789".contains($0) })
    let end = try (flow["step"] ?? .null).time("expiresAt")
    if way == "totp" {
      #expect(flow.shown == (try scene.numberOfSecret()))
      #expect(end.timeIntervalSince1970.truncatingRemainder(dividingBy: 60) == 0)
    } else {
      #expect((150...181).contains(end.timeIntervalSince(clock.date)))
    }
    let visit = try scene.visit(way, number: flow.shown)
    let wanted = try scene.asked(flow)
    #expect(wanted.text.contains("sign in to http"), "the site is named: \(wanted.text)")
    let done = try scene.app.finished(scene.prove(wanted))
    #expect(done["status"] == "succeeded" && done.account == account, "\(done.text)")
    #expect(
      try scene.states(of: done)
        == ["localAuth", "generating", "pending", "localAuth", "starting", "completing"])
    let seen = try scene.atSite(visit)
    #expect(seen["state"] == "completed" && seen["localAuth"] == true, "\(seen.text)")
    let token = try scene.token(of: account)["accessToken"]?.stringValue ?? ""
    #expect(try scene.owner(of: token) == "alice.01")
    #expect(try scene.refusalAtSite(way, number: flow.shown) != nil, "it is good once")
  }

  @Test("the site refuses another number, and the right one is good after it")
  func mistyped() throws {
    let scene = try BSAScene()
    try scene.registered()
    let flow = try shown(scene, "otp")
    let wrong = flow.shown == "000000" ? "000001" : "000000"
    #expect(try scene.refusalAtSite("otp", number: wrong) == "3005")
    #expect(try scene.flow(flow)["status"] == "active")
    _ = try scene.visit("otp", number: flow.shown)
    #expect(try scene.app.finished(scene.approved(flow))["status"] == "succeeded")
  }

  /// The flow with the next number, after the one that it shows.
  private func next(_ scene: BSAScene, after flow: JSONValue) throws -> JSONValue {
    let next = try scene.moved(flow, "shows another number") {
      $0.stepType == "displayCode" && $0["step"]?["expiresAt"] != flow["step"]?["expiresAt"]
    }
    #expect(next.shown != flow.shown, "one in a million")
    #expect(
      try scene.states(of: next)
        == ["localAuth", "generating", "pending", "generating", "pending"],
      "nothing is proved anew")
    return next
  }

  @Test("when its minute is over a TOTP number has a next one, which the site takes")
  func nextMinute() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    try scene.registered()
    try clock.advance(toNextStepOf: 60)
    let first = try shown(scene, "totp")
    try clock.advance(by: 60)
    let second = try next(scene, after: first)
    #expect(second.shown == (try scene.numberOfSecret()))
    _ = try scene.visit("totp", number: second.shown)
    #expect(try scene.app.finished(scene.approved(second))["status"] == "succeeded")
  }

  @Test("when the time of an OTP number is over another is asked for, and the first is void")
  func nextNumber() throws {
    let clock = MovableClock()
    let scene = try BSAScene(["otp_seconds": "60"], clock: clock)
    try scene.registered()
    let first = try shown(scene, "otp")
    try clock.advance(by: 61)
    let second = try next(scene, after: first)
    #expect(try scene.requests("otpGenerate") == 2)
    #expect(try scene.refusalAtSite("otp", number: first.shown) == "3005")
    _ = try scene.visit("otp", number: second.shown)
    #expect(try scene.app.finished(scene.approved(second))["status"] == "succeeded")
  }

  @Test("a client that was given this step's code waits for the next one, where each is given once")
  func singleUse() throws {
    let clock = MovableClock()
    let scene = try BSAScene(
      tables: "[provider.totp]\nperiod_seconds = 60\nsingle_use = true\n", clock: clock)
    try scene.registered()
    let asked = try scene.asked(scene.authenticate("totp"))
    try clock.advance(toNextStepOf: 60)
    let code = try scene.code()
    let waiting = try scene.standing(scene.prove(asked, waitMs: 0), at: "generating")
    let troubled = try scene.moved(waiting, "says why it waits") { $0.problem[0] != nil }
    #expect(troubled.problem == ["no_code_yet", nil], "\(troubled.text)")
    try clock.advance(by: 30)
    #expect(try scene.flow(troubled).state == "generating", "the next step has not begun")
    try clock.advance(by: 31)
    let shown = try scene.asked(troubled, for: "displayCode")
    #expect(shown.shown != code.code && (shown["problem"] ?? .null) == .null)
    // It is the client's own: it has had it.
    #expect(try scene.app.reason(of: "totp.code", ["provider": "bsa"]) == "rate_limited")
  }

  @Test("a person whom the provider does not know any more gets no number")
  func unknown() throws {
    let scene = try BSAScene()
    try scene.registered()
    try scene.sandbox.control("DELETE", "bsa/registrations/alice.01")
    let flow = try scene.asked(scene.authenticate("otp"))
    let end = try scene.app.finished(scene.prove(flow))
    #expect(end.failure == ["provider_rejected", "2008", nil], "\(end.text)")
  }

  @Test(
    "a sign-in that was given up is denied, a person who is suspended refused",
    arguments: ["otp", "totp"])
  func refused(way: String) throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    try scene.registered()
    try clock.advance(toNextStepOf: 60)
    let flow = try shown(scene, way)
    try scene.answers("auth", ["rtCode": 5011])
    _ = try scene.visit(way, number: flow.shown)
    let end = try scene.app.finished(scene.approved(flow))
    #expect(end.failure == ["denied", "5011", nil], "\(end.text)")
    let asked = try scene.asked(scene.authenticate("otp"))
    try scene.makePerson("suspended")
    #expect(
      try scene.app.finished(scene.prove(asked)).failure == ["provider_rejected", "5006", nil])
  }

  @Test("while a number is shown it is the only place where it stands")
  func onlyThere() throws {
    let scene = try BSAScene(logLevel: "trace")
    try scene.registered()
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token"]])
    let flow = try shown(scene, "otp")
    #expect(!scene.daemon.log.contains(flow.shown))
    while let line = try? listener.receiveLine(within: 1) {
      #expect(!String(decoding: line, as: UTF8.self).contains(flow.shown))
    }
    for (name, bytes) in scene.daemon.place.everything() where !name.contains("log") {
      #expect(bytes.range(of: Data("\"\(flow.shown)\"".utf8)) == nil, "it is in \(name)")
    }
    _ = try scene.cancel(flow)
  }
}
