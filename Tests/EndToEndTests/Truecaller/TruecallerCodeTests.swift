import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Numbers, codes and names on their way to the provider. `UsherFlowsTests/Truecaller` covers which
/// of them are refused, and every answer of the provider.
@Suite("Numbers, codes and names in Truecaller verifications", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerCodeTests {
  private let fixture: TruecallerFixture
  private let clock = MovableClock()

  init() throws { fixture = try TruecallerFixture(clock: clock) }

  @Test(
    "an invalid input to Truecaller verifyPhone's enterCode step is refused and changes nothing")
  func inputs() throws {
    let flow = try fixture.verify()
    let code = try fixture.code()
    var fields = TruecallerFixture.entry(code)
    fields["fields"] = ["firstName": "Asha", "lastName": "", "middleName": "B"]
    let refused: [(input: JSONValue, reason: String, field: String?)] = [
      (TruecallerFixture.entry("12345"), "invalid_input", "input.code"),
      (TruecallerFixture.entry("１２３４５６"), "invalid_input", "input.code"),
      (fields, "invalid_input", "input.fields.middleName"),
      (["type": "enterPassword", "password": "x"], "unexpected_input", nil),
      (["type": "enterCode"], "invalid_input", nil),
      (["type": "enterCode", "resend": false], "invalid_input", nil),
    ]
    for (input, reason, field) in refused {
      let told = try fixture.refusal(input, to: flow)
      #expect(told.0 == reason && (field == nil || told.1 == field), "\(input.text): \(told)")
    }
    for last: JSONValue in [7, ["Rao"]] {
      fields["fields"] = ["firstName": "Asha", "lastName": last]
      let (reason, field) = try fixture.refusal(fields, to: flow)
      #expect(reason == "invalid_input", "\(last.text): \(reason ?? "none")")
      #expect(field?.contains("lastName") == true, "\(field ?? "none")")
    }
    #expect(try fixture.flow(flow) == flow)
    #expect(try fixture.requests("verify") == 0)
    #expect(try fixture.enter(code, to: flow)["status"] == "succeeded")
  }

  @Test("a last name that is null is Truecaller TCError 18, a problem, and sends no request")
  func nullName() throws {
    let flow = try fixture.verify()
    let code = try fixture.code()
    var entry = TruecallerFixture.entry(code)
    for fields: JSONValue in [
      ["firstName": "Asha", "lastName": .null], ["firstName": "Asha"],
      ["firstName": .null, "lastName": ""],
    ] {
      entry["fields"] = fields
      let bad = try fixture.submit(entry, to: fixture.flow(flow))
      #expect(bad.problem == ["invalid_name", "18"], "\(bad.text)")
      #expect(bad["step"] == flow["step"])
    }
    #expect(try fixture.requests("verify") == 0)
    #expect(try fixture.enter(code, to: fixture.flow(flow))["status"] == "succeeded")
  }

  @Test("Truecaller's server, not usherd, refuses a number of ten digits")
  func anyNumber() throws {
    let end = try fixture.app.finished(fixture.start("5876543210"))
    #expect(end.failure == ["invalid_request", "14", "4001"], "\(end.text)")
    #expect(try fixture.requests("create") == 1)
  }

  @Test(
    "a name arrives at Truecaller byte for byte as it was typed",
    arguments: [("A\u{301}sha आशा", "Ra\u{304}o"), ("É", ""), ("X Æ A-12 李", "O'Neill 😀")])
  func names(first: String, last: String) throws {
    let flow = try fixture.verify()
    let end = try fixture.enter(fixture.code(), first, last, to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let written = try fixture.profile()
    #expect(written["firstName"]?.stringValue?.utf8.elementsEqual(first.utf8) == true)
    #expect(written["lastName"]?.stringValue?.utf8.elementsEqual(last.utf8) == true)
    #expect(end["result"]?["profile"]?["firstName"] == .string(first))
  }

  @Test("the Truecaller profile of a United Kingdom number is at the European host (trap 2)")
  func host() throws {
    let end = try fixture.verified("7700900123", "uk")
    let path = "/truecaller/eu/v1/profile"
    #expect(try fixture.paths("update") == [path] && fixture.paths("profile") == [path])
    #expect(try fixture.account(of: end)["attributes"]?["countryCode"] == "UK")
  }

  @Test("a Truecaller verification token that an answer repeats keeps its TTL (trap 1)")
  func repeated() throws {
    try fixture.set(["verifyCarries": "same", "tokenTtl": 600])
    let flow = try fixture.verify()
    try clock.advance(by: 300)
    let wrong = try fixture.enter(fixture.wrongCode(), to: flow)
    let change = try wrong.codeEnd().timeIntervalSince(flow.codeEnd())
    // A TTL that started again would end 300 s later.
    #expect((-60...60).contains(change))
    #expect(try fixture.enter(fixture.code(), to: wrong)["status"] == "succeeded")
  }

  @Test("a create call of unknown outcome ends Truecaller verifyPhone and is not repeated")
  func createFails() throws {
    try fixture.spoil("create", ["reset": true, "processed": true], times: 1)
    let end = try fixture.app.finished(fixture.start())
    #expect(end.failure == ["provider_unreachable", "9", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try fixture.requests("create") == 1)
    #expect(try fixture.messages().count == 1)
    let flow = try fixture.verify()
    #expect(try fixture.enter(fixture.code(), to: flow)["status"] == "succeeded")
  }

  @Test("a Truecaller code whose answer is lost is not sent again but asked for again")
  func verifyFails() throws {
    let flow = try fixture.verify()
    try fixture.spoil("verify", ["reset": true, "processed": true], times: 1)
    let asked = try fixture.enter(fixture.code(), to: flow)
    #expect(asked["state"] == "otpInitiated")
    #expect(asked.problem == ["provider_unreachable", "9"], "\(asked.text)")
    #expect(try fixture.requests("verify") == 1)
    // The code is accepted, although the server had accepted it already.
    #expect(try fixture.enter(fixture.code(), to: asked)["status"] == "succeeded")
  }

  @Test(
    "Truecaller verifyPhone reports a deleted app key as a problem and continues once it is set")
  func keyDeleted() throws {
    let flow = try fixture.verify()
    #expect(
      try fixture.daemon.usherctl(["credential", "delete", "truecaller-app-key"]).status == 0)
    let sent = try fixture.enter(fixture.code(), to: flow, waitMs: 0)
    let told = try fixture.moved(sent, "has a problem") { $0.problem[0] != nil }
    #expect(told["state"] == "verifying" && told.problem == ["provider_unreachable", "9"])
    #expect(told["problem"]?["message"]?.stringValue?.contains("credential set") == true)
    #expect(try fixture.requests("verify") == 0)
    try fixture.daemon.setCredential("truecaller-app-key", TruecallerFixture.appKey)
    try clock.advance(by: 5)
    #expect(try fixture.app.finished(told)["status"] == "succeeded")
  }
}
