import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The binding by SNAP: the client token, the credentials and the probe. `SNAPReplyTests` covers
/// its refusals.
@Suite("GoPay by SNAP", .mayBlock, .timeLimit(.minutes(10)))
struct GoPaySnapTests {
  private let fixture: GoPayFixture

  init() throws { fixture = try GoPayFixture(.snap) }

  private func verify(_ fixture: GoPayFixture? = nil) throws -> JSONValue {
    try (fixture ?? self.fixture).verify(token: "alice-short-term")
  }

  @Test("SNAP's client token is requested once for all flows and replaced when it is refused")
  func clientToken() throws {
    for _ in 0..<3 { #expect(try verify().completes == "poll") }
    #expect(try fixture.requests("b2b") == 1)
    #expect(try fixture.requests("binding") == 3)
    // The client token is kept in memory only.
    try fixture.daemon.restart()
    #expect(try verify(fixture.again()).completes == "poll")
    #expect(try fixture.requests("b2b") == 2)
    try fixture.sandbox.control("POST", "gopay/endB2BTokens")
    #expect(try verify(fixture.again()).completes == "poll")
    #expect(try fixture.requests("b2b") == 3)
  }

  @Test("a missing SNAP key ends verify with GPE-2201 and the command that sets the credential")
  func notSet() throws {
    let name = "gopay-private-key"
    _ = try fixture.daemon.admin().call("credential.delete", ["name": .string(name)])
    let end = try verify()
    GoPayEnd.configuration().check(end)
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(message.contains("usherctl credential set \(name)"), "\(message)")
    #expect(try fixture.allRequests() == 0)
    // A verification without an exchange does not need the key.
    #expect(try fixture.atCapture()["status"] == "active")
  }

  @Test("a signature by another key ends verify with GPE-2201 and SNAP's code 4017300")
  func otherKey() throws {
    // GoPay has a new key now; the daemon still signs with the old one.
    try fixture.sandbox.control("DELETE", "gopay/key")
    let key = try fixture.privateKey()
    GoPayEnd.configuration("4017300").check(try verify())
    #expect(try fixture.requests("binding") == 0)
    try fixture.setCredential("gopay-private-key", key)
    #expect(try verify().completes == "poll")
  }

  @Test("usherctl provider check requests SNAP's client token and sends no binding")
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
