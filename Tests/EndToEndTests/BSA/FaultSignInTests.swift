import JSONRPC
import Testing
import UsherTestKit

/// The flow `authenticate` with a provider that fails.
@Suite(
  "BSA: a provider that fails while somebody signs in", .mayBlock,
  .timeLimit(.minutes(10)))
struct FaultSignInTests {
  private let clock = MovableClock()
  private let scene: BSAScene

  init() throws {
    scene = try BSAScene.hasty(clock)
    try scene.registered()
  }

  private func expectSignedIn(_ flow: JSONValue) throws {
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let token = try scene.token(of: end.account)["accessToken"]?.stringValue ?? ""
    #expect(try scene.owner(of: token) == "alice.01")
  }

  @Test(
    "down while a site is waited for: a problem, and it goes on asking",
    arguments: BSAFault.passing + BSAFault.lost)
  func exists(_ fault: BSAFault) throws {
    try scene.spoil("authExist", fault.json, times: 1)
    let troubled = try scene.troubled(scene.authenticate("push"))
    #expect(troubled.state == "pending")
    _ = try scene.visit()
    let asked = try scene.asked(troubled)
    #expect((asked["problem"] ?? .null) == .null, "\(asked.text)")
    try expectSignedIn(scene.prove(asked))
  }

  @Test(
    "down at one of the calls of the sign-in: a problem, and it is asked again, once",
    arguments: ["auth", "authComplete", "authResult"], BSAFault.passing + BSAFault.lost)
  func calls(_ endpoint: String, _ fault: BSAFault) throws {
    let (flow, visit) = try scene.pushed()
    try scene.spoil(endpoint, fault.json, times: 1)
    let troubled = try scene.troubled(scene.prove(flow, waitMs: 0))
    #expect(troubled.state == (endpoint == "auth" ? "starting" : "completing"))
    try expectSignedIn(troubled)
    #expect(try scene.requests(endpoint) == 2 && scene.requests("authCancel") == 0)
    #expect(try scene.atSite(visit)["state"] == "completed")
  }

  @Test("down while a number is asked for", arguments: BSAFault.passing + BSAFault.lost)
  func generate(_ fault: BSAFault) throws {
    let asked = try scene.asked(scene.authenticate("otp"))
    try scene.spoil("otpGenerate", fault.json, times: 1)
    let troubled = try scene.troubled(scene.prove(asked, waitMs: 0))
    #expect(troubled.state == "generating")
    let shown = try scene.asked(troubled, for: "displayCode")
    #expect((shown["problem"] ?? .null) == .null, "\(shown.text)")
    _ = try scene.visit("otp", number: shown.shown)
    try expectSignedIn(scene.approved(shown))
  }

  /// A sign-in that ends at this call, by whatever goes wrong there.
  private func ended(at endpoint: String, by spoil: () throws -> Void) throws -> JSONValue {
    let isNumber = endpoint == "otpGenerate"
    try scene.sandbox.control("POST", "bsa/expire", ["what": "signIns"])
    var flow = try scene.standing(
      scene.authenticate(isNumber ? "otp" : "push"), at: isNumber ? "localAuth" : "pending")
    try spoil()
    if !isNumber { _ = try scene.visit() }
    if endpoint != "authExist" { flow = try scene.prove(scene.asked(flow)) }
    return try scene.app.finished(flow)
  }

  @Test(
    "an answer that is none ends it, and cancels what is under way",
    arguments: ["authExist", "auth", "authComplete", "authResult", "otpGenerate"])
  func unreadable(_ endpoint: String) throws {
    for (number, fault) in BSAFault.lasting.enumerated() {
      scene.expectProtocolError(
        try ended(at: endpoint) { try scene.spoil(endpoint, fault.json, times: 1) })
      #expect(try scene.app.reason(of: "token.get", ["provider": "bsa"]) != "none")
      guard ["auth", "authComplete", "authResult"].contains(endpoint) else { continue }
      try eventually("it is cancelled: \(fault)") {
        try scene.requests("authCancel") == number + 1
      }
    }
  }

  @Test("data without what it must have is no answer")
  func lacking() throws {
    let cases: [(String, JSONValue)] = [
      ("authExist", ["isExist": .null]), ("authExist", ["isExist": "yes"]), ("authExist", .null),
      ("authExist", ["isExist": true, "clientKey": .null]), ("auth", ["channelKey": .null]),
      ("auth", ["channelKey": ""]), ("auth", .null), ("authResult", .null),
      ("authResult", ["token": "x"]), ("authResult", ""), ("authResult", "two words"),
      ("otpGenerate", .null), ("otpGenerate", 123_456), ("otpGenerate", ""),
    ]
    for (endpoint, data) in cases {
      scene.expectProtocolError(
        try ended(at: endpoint) { try scene.answers(endpoint, ["data": data]) })
    }
  }

  @Test("down for a while, and up again: it goes on by itself")
  func downThenUp() async throws {
    let scene = scene
    try await aside {
      let (flow, visit) = try scene.pushed()
      try scene.spoilAll(["reset": true])
      let troubled = try scene.troubled(scene.prove(flow, waitMs: 0))
      try eventually("it was tried again") { try scene.requests("auth") >= 3 }
      try scene.mend()
      let end = try scene.app.finished(troubled)
      #expect(end["status"] == "succeeded" && (end["problem"] ?? .null) == .null, "\(end.text)")
      #expect(try scene.atSite(visit)["state"] == "completed")
    }
  }

  @Test("down for good: after six tries it is the end, without a code")
  func downForGood() throws {
    let (flow, _) = try scene.pushed()
    try scene.spoil("auth", ["status": 503])
    let end = try scene.app.finished(scene.prove(flow, waitMs: 0), moving: clock)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == true)
    #expect(try scene.requests("auth") == 6)
    try eventually("it is cancelled") { try scene.requests("authCancel") == 1 }
  }

  @Test("a provider that says when to come again is asked then, not before")
  func retryAfter() throws {
    let (flow, _) = try scene.pushed()
    try scene.spoil(
      "auth", ["status": 503, "headers": ["Retry-After": "4"]], times: 1)
    let begun = ContinuousClock.now
    try expectSignedIn(scene.prove(flow))
    #expect(ContinuousClock.now - begun >= .seconds(4))
  }
}
