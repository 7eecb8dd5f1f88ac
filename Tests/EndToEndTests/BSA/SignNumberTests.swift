import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Sign-in by a number that the person types at a site: the provider's (`otp`), or a code of the
/// account's TOTP secret (`totp`).
@Suite("BSA sign-in by a displayed number", .mayBlock, .timeLimit(.minutes(10)))
struct SignNumberTests {
  /// Starts a sign-in and returns it at the step that shows the number.
  private func shown(_ fixture: BSAFixture, _ way: String) throws -> JSONValue {
    let asked = try fixture.asked(fixture.authenticate(way))
    return try fixture.asked(fixture.prove(asked), for: "displayCode")
  }

  @Test(
    "a displayed number, typed at the site and approved by passcode, completes a BSA sign-in",
    arguments: ["otp", "totp"])
  func wholeWay(way: String) throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(["site_url": "\"https://login.example.com/here\""], clock: clock)
    let account = try fixture.registered().account
    try clock.advance(toNextStepOf: 60)
    let flow = try shown(fixture, way)
    #expect(flow.state == "pending", "\(flow.text)")
    #expect(flow["step"]?["verificationURI"] == "https://login.example.com/here")
    #expect(flow.shown.count == 6 && flow.shown.allSatisfy { "0123456789".contains($0) })
    let end = try (flow["step"] ?? .null).time("expiresAt")
    if way == "totp" {
      #expect(flow.shown == (try fixture.numberOfSecret()))
      #expect(end.timeIntervalSince1970.truncatingRemainder(dividingBy: 60) == 0)
    } else {
      #expect((60...181).contains(end.timeIntervalSince(clock.date)))
    }
    let visit = try fixture.visit(way, number: flow.shown)
    let wanted = try fixture.asked(flow)
    #expect(
      wanted.text.contains("sign in to http"), "the step's reason names the site: \(wanted.text)")
    let done = try fixture.app.finished(fixture.prove(wanted))
    #expect(done["status"] == "succeeded" && done.account == account, "\(done.text)")
    #expect(
      try fixture.states(of: done)
        == ["localAuth", "generating", "pending", "localAuth", "starting", "completing"])
    let seen = try fixture.atSite(visit)
    #expect(seen["state"] == "completed" && seen["localAuth"] == true, "\(seen.text)")
    let token = try fixture.token(of: account)["accessToken"]?.stringValue ?? ""
    #expect(try fixture.owner(of: token) == "alice.01")
    #expect(
      try fixture.refusalAtSite(way, number: flow.shown) != nil, "the number can be used once")
  }

  @Test(
    "an expired BSA sign-in number is replaced by another, which the site accepts",
    arguments: ["otp", "totp"])
  func nextNumber(way: String) throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(["otp_seconds": "60"], clock: clock)
    try fixture.registered()
    try clock.advance(toNextStepOf: 60)
    let first = try shown(fixture, way)
    try clock.advance(by: 61)
    let second = try fixture.moved(first, "shows another number") {
      $0.stepType == "displayCode" && $0["step"]?["expiresAt"] != first["step"]?["expiresAt"]
    }
    #expect(second.shown != first.shown, "two numbers are equal by chance once in a million runs")
    #expect(
      try fixture.states(of: second)
        == ["localAuth", "generating", "pending", "generating", "pending"],
      "the flow does not ask for local authentication again")
    if way == "otp" {
      #expect(try fixture.requests("otpGenerate") == 2)
      #expect(try fixture.refusalAtSite("otp", number: first.shown) == "3005")
    } else {
      #expect(second.shown == (try fixture.numberOfSecret()))
    }
    _ = try fixture.visit(way, number: second.shown)
    #expect(try fixture.app.finished(fixture.approved(second))["status"] == "succeeded")
  }

  @Test("a displayed BSA sign-in number is in no log, event or file")
  func onlyThere() throws {
    let fixture = try BSAFixture(logLevel: "trace")
    try fixture.registered()
    let listener = try fixture.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token"]])
    let flow = try shown(fixture, "otp")
    let id = try #require(flow["id"]?.stringValue)
    // The search finds the number in the reply, and in a file that is written for this check.
    #expect(isIn(Data(flow.text.utf8), flow.shown))
    try fixture.daemon.place.write("a\(flow.shown)b", to: "state/control")
    let files = fixture.daemon.place.everything()
    #expect(files.filter { isIn($0.bytes, flow.shown) }.map(\.name) == ["state/control"])
    #expect(files.contains { $0.name.hasSuffix("usherd.log") && isIn($0.bytes, id) })
    _ = try fixture.cancel(flow)
    #expect(!isIn(Data(fixture.daemon.log.utf8), flow.shown))
    var told = ""
    var event = ""
    while !event.contains("cancelled") {
      event = String(decoding: try #require(try listener.receiveLine()), as: UTF8.self)
      told += event
    }
    #expect(told.contains(id), "the received events are about the flow")
    #expect(!isIn(Data(told.utf8), flow.shown))
  }

  /// Whether the bytes contain a number, other than as part of a longer one such as a time.
  private func isIn(_ bytes: Data, _ text: String) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    var rest = bytes.startIndex..<bytes.endIndex
    while let found = bytes.range(of: Data(text.utf8), in: rest) {
      let (before, after) = (bytes[..<found.lowerBound].last, bytes[found.upperBound...].first)
      let isPart = [before, after].contains { $0.map { digits.contains($0) } ?? false }
      if !isPart { return true }
      rest = found.upperBound..<bytes.endIndex
    }
    return false
  }
}
