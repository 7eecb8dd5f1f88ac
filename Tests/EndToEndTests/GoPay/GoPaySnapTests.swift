import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The binding by SNAP: the client token, the credentials and the probe. Its refusals
/// are rows of `SNAPReplyTests`.
@Suite("GoPay by SNAP", .mayBlock, .timeLimit(.minutes(10)))
struct GoPaySnapTests {
  private let fixture: GoPayFixture

  init() throws { fixture = try GoPayFixture(.snap) }

  private func verify(_ fixture: GoPayFixture? = nil) throws -> JSONValue {
    try (fixture ?? self.fixture).verify(token: "alice-short-term")
  }

  @Test("the client token is asked for once, for all flows; one that is refused is replaced")
  func clientToken() throws {
    for _ in 0..<3 { #expect(try verify().completes == "poll") }
    #expect(try fixture.requests("b2b") == 1)
    #expect(try fixture.requests("binding") == 3)
    // It is kept in memory only.
    try fixture.daemon.restart()
    #expect(try verify(fixture.again()).completes == "poll")
    #expect(try fixture.requests("b2b") == 2)
    try fixture.sandbox.control("POST", "gopay/endB2BTokens")
    #expect(try verify(fixture.again()).completes == "poll")
    #expect(try fixture.requests("b2b") == 3)
  }

  @Test("a credential that is not set is 2201 with the sentence that says how to set it")
  func notSet() throws {
    let name = "gopay-private-key"
    _ = try fixture.daemon.admin().call("credential.delete", ["name": .string(name)])
    let end = try verify()
    GoPayEnd.configuration().check(end)
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl credential set \(name)"), "\(message)")
    #expect(try fixture.allRequests() == 0)
    // Without an exchange nothing is missing.
    #expect(try fixture.atCapture()["status"] == "active")
  }

  @Test("another key's signature is refused: 2201 with SNAP's 4017300")
  func otherKey() throws {
    // GoPay has a new key from now on; the daemon signs with the old one.
    try fixture.sandbox.control("DELETE", "gopay/key")
    let key = try fixture.privateKey()
    GoPayEnd.configuration("4017300").check(try verify())
    #expect(try fixture.requests("binding") == 0)
    try fixture.setCredential("gopay-private-key", key)
    #expect(try verify().completes == "poll")
  }

  @Test("usherctl provider check tries the client token, which binds nobody")
  func check() throws {
    let good = try fixture.daemon.usherctl(["provider", "check", "gopay"])
    #expect(good.status == 0, "\(good.output) \(good.errors)")
    #expect(try fixture.requests("b2b") == 1 && fixture.requests("binding") == 0)
    try fixture.sandbox.control("DELETE", "gopay/key")
    let bad = try fixture.daemon.usherctl(["provider", "check", "gopay"])
    #expect(bad.status != 0)
    #expect((bad.output + bad.errors).contains("4017300"), "\(bad.output) \(bad.errors)")
  }
}
