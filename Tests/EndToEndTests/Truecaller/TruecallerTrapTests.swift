import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// What of the vendor's text and SDK misleads (trap 1 of the contracts), and the SDK's silence. The
/// two 404s are with validation, the upper-cased country (trap 2) with the numbers, and the update
/// that the SDK does not look at with the names.
@Suite("Truecaller: traps and silence", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerTrapTests {
  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  private func expectSilence(_ end: JSONValue) throws {
    #expect(end["status"] == "failed")
    #expect(end.failure == ["provider_protocol_error", "10", nil], "\(end.text)")
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("trap 1: the same token again, with the seconds it has left")
  func repeated() throws {
    try scene.set(["verifyCarries": "same"])
    let flow = try scene.verify()
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    let change = try wrong.codeEnd().timeIntervalSince(flow.codeEnd())
    #expect((-1.5...1.5).contains(change))
    let end = try scene.enter(scene.code(), to: wrong)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test(
    "trap 1: an answer of verify wipes neither tokenTtl nor verificationToken",
    arguments: ["nothing", "null"])
  func wiped(carried: String) throws {
    try scene.set(["verifyCarries": .string(carried)])
    let flow = try scene.verify()
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    #expect(wrong["step"] == flow["step"])
    #expect(try scene.resend(wrong).problem == ["rate_limited", "10"])
    #expect(try scene.enter(scene.code(), to: scene.flow(wrong))["status"] == "succeeded")
  }

  @Test("trap 1: what an answer of verify has of them is in force from then on")
  func replaced() throws {
    let flow = try scene.verify()
    try scene.set(["verifyCarries": "new", "tokenTtl": 600])
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    #expect(wrong.problem == ["wrong_code", "10"])
    let left = try wrong.codeEnd().timeIntervalSinceNow
    #expect((480...600).contains(left))
    #expect(wrong["step"]?["resendAt"] == wrong["step"]?["expiresAt"])
    // Under the old token there is nothing any more.
    #expect(try scene.enter(scene.code(), to: wrong)["status"] == "succeeded")
  }

  @Test("a reply to verify without accessToken and without code is an error")
  func silentVerify() throws {
    for reply: JSONValue in [
      ["accessToken": .null], ["accessToken": ""], ["accessToken": .null, "status": 1],
    ] {
      try scene.set(["verifyReply": reply])
      let flow = try scene.verify()
      try expectSilence(scene.enter(scene.code(), to: flow))
      // For the server the number was verified all the same.
      try scene.sandbox.control("DELETE", "truecaller/verified")
    }
    #expect(try scene.requests("update") == 0)
  }

  @Test("a reply to create that says neither sms nor verified before is an error")
  func silentCreate() throws {
    let none: JSONValue = ["method": .null, "verificationToken": .null, "tokenTtl": .null]
    for reply: JSONValue in [
      none, none + ["status": 1], none + ["status": 0, "accessToken": "tok"],
      ["verificationToken": .null], ["method": "call"],
    ] {
      try scene.set(["createReply": reply])
      try expectSilence(scene.verify())
    }
  }

  @Test("no tokenTtl is 60 seconds, nonsense likewise, and more than a day is a day")
  func ttl() throws {
    let cases: [(told: JSONValue, seconds: ClosedRange<Double>)] = [
      (.null, 20...60), (0, 20...60), (-5, 20...60), ("", 20...60), (10_000_000, 86_300...86_400),
    ]
    for (told, seconds) in cases {
      try scene.set(["createReply": ["tokenTtl": told]])
      let left = try scene.verify().codeEnd().timeIntervalSinceNow
      #expect(seconds.contains(left), "\(told.text): \(left)")
    }
  }

  @Test("a code in HTTP 200 is a refusal")
  func codeInside() throws {
    try scene.set(["createReply": ["code": 4291, "message": "no more"]])
    let end = try scene.verify()
    #expect(end.failure == ["provider_rejected", "10", "4291"], "\(end.text)")
    try scene.set(["createReply": [:], "verifyReply": ["code": 4220, "message": "no"]])
    let flow = try scene.verify()
    #expect(try scene.enter(scene.code(), to: flow).problem == ["wrong_code", "10"])
  }

  @Test("an answer that is no JSON object", arguments: ["create", "profile"])
  func noObject(endpoint: String) throws {
    try scene.spoil(endpoint, ["brokenJSON": true], times: 1)
    let flow = try scene.verify()
    let end = try endpoint == "create" ? flow : scene.enter(scene.code(), to: flow)
    #expect(
      end.failure == ["provider_protocol_error", endpoint == "create" ? "10" : "13", nil],
      "\(end.text)")
  }
}
