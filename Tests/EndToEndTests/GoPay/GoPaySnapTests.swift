import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The binding by SNAP: credentials, signatures, the client token, and the refusals of its table.
@Suite("GoPay by SNAP", .mayBlock, .timeLimit(.minutes(10)))
struct GoPaySnapTests {
  private let scene: GoPayScene

  init() throws { scene = try GoPayScene(.snap) }

  private func verify(_ scene: GoPayScene? = nil) throws -> JSONValue {
    try (scene ?? self.scene).verify(token: "alice-short-term")
  }

  @Test("what is right is taken: the client token is asked for once, for all flows")
  func right() throws {
    for _ in 0..<3 { #expect(try verify().completes == "poll") }
    #expect(try scene.requests("b2b") == 1)
    #expect(try scene.requests("binding") == 3)
    // It is kept in memory only.
    try scene.daemon.restart()
    #expect(try verify(scene.again()).completes == "poll")
    #expect(try scene.requests("b2b") == 2)
  }

  @Test("however many want a client token, it is asked for once")
  func atOnce() throws {
    try scene.spoil("b2b", ["delayMs": 500], times: 1)
    let flows = try (0..<4).map { _ in try scene.verify(token: "alice-short-term", waitMs: 0) }
    for flow in flows {
      _ = try scene.moved(flow, "is at the capture page") { $0.completes == "poll" }
    }
    #expect(try scene.requests("b2b") == 1)
  }

  @Test("its lifetime is a text, or a number; when it is over another one is asked for")
  func lifetime() throws {
    try scene.set(["b2bReply": ["expiresIn": 900]])
    #expect(try verify().completes == "poll")
    // Below the minute that is kept free, each call needs a new one.
    let other = try GoPayScene(.snap)
    try other.set(["b2bSeconds": 30])
    for _ in 0..<2 { #expect(try verify(other).completes == "poll") }
    #expect(try other.requests("b2b") == 2)
    try scene.set(["b2bReply": ["expiresIn": "soon"]])
    try scene.daemon.restart()
    GoPayEnd.api("provider_protocol_error").check(try verify(scene.again()))
  }

  @Test("one that is refused is replaced, once")
  func replaced() throws {
    #expect(try verify().completes == "poll")
    try scene.sandbox.control("POST", "gopay/endB2BTokens")
    #expect(try verify().completes == "poll")
    #expect(try scene.requests("b2b") == 2)
    try scene.spoil(
      "binding",
      ["status": 401, "body": ["responseCode": "4010701", "responseMessage": "Invalid Token"]])
    let before = try scene.requests("binding")
    GoPayEnd.configuration("4010701").check(try verify())
    #expect(try scene.requests("binding") == before + 2)
    #expect(try scene.requests("b2b") == 3)
  }

  @Test(
    "a credential that is not set is 2201 with the sentence that says how to set it",
    arguments: ["gopay-private-key", "gopay-client-secret"])
  func notSet(name: String) throws {
    let deleted = try scene.daemon.usherctl(["credential", "delete", name])
    #expect(deleted.status == 0, "\(deleted.errors)")
    let end = try verify()
    GoPayEnd.configuration().check(end)
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl credential set \(name)"), "\(message)")
    #expect(try scene.allRequests() == 0)
    // Without an exchange nothing is missing.
    #expect(try scene.atCapture()["status"] == "active")
  }

  @Test("so it is with the backend's")
  func notSetForBackend() throws {
    let scene = try GoPayScene(.backend, isSet: false)
    let end = try verify(scene)
    GoPayEnd.configuration().check(end)
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl credential set gopay-exchange"), "\(message)")
  }

  @Test(
    "a private key that is none is 2201, and nothing of it is told",
    arguments: ["not a key at all", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
  func noKey(text: String) throws {
    try scene.setCredential("gopay-private-key", text)
    let end = try verify()
    GoPayEnd.configuration().check(end)
    #expect(!end.text.contains("AAAA") && !end.text.contains("at all"), "\(end.text)")
    #expect(try scene.allRequests() == 0)
  }

  @Test("another key's signature is refused: 2201 with SNAP's 4017300")
  func otherKey() throws {
    // GoPay has a new key from now on; the daemon signs with the old one.
    try scene.sandbox.control("DELETE", "gopay/key")
    let key = try scene.privateKey()
    GoPayEnd.configuration("4017300").check(try verify())
    #expect(try scene.requests("binding") == 0)
    try scene.setCredential("gopay-private-key", key)
    #expect(try verify().completes == "poll")
  }

  @Test("a secret that is off by a byte signs wrongly: 2201 with SNAP's 4010700")
  func otherSecret() throws {
    try scene.setCredential(
      "gopay-client-secret", String(GoPayScene.clientSecret.dropLast()) + "-")
    GoPayEnd.configuration("4010700").check(try verify())
    #expect(try scene.codeStates() == ["waiting"])
    try scene.setCredential("gopay-client-secret", GoPayScene.clientSecret)
    #expect(try verify().completes == "poll")
  }

  @Test("clocks that are too far apart are 2201: at the client token, and at the binding")
  func clockSkew() throws {
    #expect(try verify().completes == "poll")
    // The client token is good for 900 s, and X-TIMESTAMP may be off by 300 s.
    try scene.sandbox.control("POST", "settings", ["clockOffsetSeconds": 400])
    GoPayEnd.configuration("4010700").check(try verify())
    for offset: Int64 in [4000, -4000] {
      try scene.sandbox.control(
        "POST", "settings", ["clockOffsetSeconds": .integer(offset)])
      try scene.daemon.restart()
      GoPayEnd.configuration("4017300").check(try verify(scene.again()))
    }
    try scene.sandbox.control("POST", "settings", ["clockOffsetSeconds": 0])
    #expect(try verify(scene.again()).completes == "poll")
  }

  @Test(
    "the refusals of SNAP's table, by their code, also in HTTP 200",
    arguments: [
      ("b2b", "4007300", GoPayEnd.configuration("4007300")),
      ("binding", "4000701", .configuration("4000701")),
      ("binding", "4000702", .missing("4000702")),
      ("binding", "4010700", .configuration("4010700")),
      ("binding", "4040705", .exchangeFailed("4040705")),
      ("binding", "4040711", .exchangeFailed("4040711")),
    ])
  func table(endpoint: String, code: String, end: GoPayEnd) throws {
    let own = Int64(code.prefix(3)) ?? 0
    for status in [own, 200] {
      try scene.spoil(
        endpoint,
        [
          "status": .integer(status),
          "body": ["responseCode": .string(code), "responseMessage": "The reason, in words"],
        ], times: 1)
      let flow = try verify()
      end.check(flow)
      #expect(flow["failure"]?["provider"]?["message"] == "The reason, in words")
    }
    #expect(try verify().completes == "poll")
  }

  @Test("an auth code that is over is refused: 2208")
  func codeOver() throws {
    try scene.set(["authCodeSeconds": 0])
    GoPayEnd.exchangeFailed("4040711").check(try verify())
  }

  @Test(
    "trouble is waited out: 5007300, 5000701, 5040700 and 429",
    arguments: [
      ("b2b", "5007300"), ("binding", "5000701"), ("binding", "5040700"), ("binding", "4290700"),
    ])
  func trouble(endpoint: String, code: String) throws {
    try scene.spoil(
      endpoint,
      [
        "status": .integer(Int64(code.prefix(3)) ?? 0),
        "body": ["responseCode": .string(code), "responseMessage": "Later, please"],
      ], times: 1)
    #expect(try verify().completes == "poll")
    #expect(try scene.requests(endpoint) == 2)
    #expect(try scene.codeStates() == ["redeemed"])
  }

  @Test("a conflict asks for another code, three rounds at most: 2203")
  func conflicts() throws {
    try scene.spoil(
      "binding",
      ["status": 409, "body": ["responseCode": "4090700", "responseMessage": "Conflict"]])
    GoPayEnd.connection("provider_unreachable", "4090700").check(try verify())
    #expect(try scene.requests("binding") == 3)
    #expect(try scene.requests("authCode") == 3)
  }

  @Test("usherctl provider check tries the client token, which binds nobody")
  func check() throws {
    let good = try scene.daemon.usherctl(["provider", "check", "gopay"])
    #expect(good.status == 0, "\(good.output) \(good.errors)")
    #expect(try scene.requests("b2b") == 1 && scene.requests("binding") == 0)
    try scene.sandbox.control("DELETE", "gopay/key")
    let bad = try scene.daemon.usherctl(["provider", "check", "gopay"])
    #expect(bad.status != 0)
    #expect((bad.output + bad.errors).contains("4017300"), "\(bad.output) \(bad.errors)")
  }
}
