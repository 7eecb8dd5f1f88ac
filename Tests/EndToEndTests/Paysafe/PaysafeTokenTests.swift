import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Trap 5: a grant that lives for half an hour, and how it is kept alive.
@Suite("Paysafe's tokens", .mayBlock, .timeLimit(.minutes(10)))
struct PaysafeTokenTests {
  @Test("a Paysafe access token lasts 900 seconds, and forceRefresh replaces it")
  func lifetimes() throws {
    let before = Date()
    let fixture = try PaysafeFixture(signedIn: "alice")
    let token = try fixture.app.call("token.get", ["provider": "paysafe"])
    #expect((before + 900...Date() + 900).contains(try token.time("expiresAt")))
    let fresh = try fixture.app.call("token.get", ["provider": "paysafe", "forceRefresh": true])
    #expect(fresh["accessToken"] != token["accessToken"])
    #expect(try fixture.requests("token", grantType: "refresh_token") == 1)
  }

  @Test("after 1800 seconds, Paysafe is asked once and token.get needs a new log-in (trap 5)")
  func deadGrant() throws {
    let clock = MovableClock()
    let fixture = try PaysafeFixture(signedIn: "alice", clock: clock)
    try clock.advance(by: 1801)
    for _ in 1...2 {
      let reply = try fixture.app.reply(to: "token.get", ["provider": "paysafe"])
      #expect(reply["error"]?["data"]?["reason"] == "reauthentication_required", "\(reply.text)")
      #expect(reply["error"]?["data"]?["next"]?["params"]?["kind"] == "authorize")
    }
    #expect(try fixture.requests("token", grantType: "refresh_token") == 1)
    let accounts = try fixture.app.call("account.list")["accounts"]?.arrayValue
    #expect(accounts?.first?["tokens"]?[0]?["status"] == "dead")
  }

  @Test("events report that a Paysafe grant is expiring, and that a refused refresh has ended it")
  func warning() throws {
    let clock = MovableClock()
    let fixture = try PaysafeFixture(more: "[token]\ngrant_warning_seconds = 300\n", clock: clock)
    let listener = try fixture.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["token"]])
    try fixture.signIn()
    try clock.advance(by: 1501)
    #expect(try listener.nextEvent() == "expiring")
    try clock.advance(by: 300)
    _ = try fixture.app.reply(to: "token.get", ["provider": "paysafe"])
    #expect(try listener.nextEvent() == "dead")
  }

  @Test("with keepAlive, a Paysafe token is renewed without token.get calls, also after a restart")
  func keepAlive() throws {
    let clock = MovableClock()
    let fixture = try PaysafeFixture(clock: clock)
    try fixture.signIn(params: ["keepAlive": true])
    try expectRefresh(fixture, clock)
    // An orderly stop waits for the answer to a refresh. A kill between the refresh and its answer
    // loses the new refresh token, and this provider revokes the grant when the old one comes back.
    #expect(try fixture.daemon.stop() == 0)
    try fixture.daemon.start()
    try expectRefresh(fixture, clock)
    let token = try fixture.daemon.client().call(
      "token.get", ["provider": "paysafe", "minValidSeconds": 0])
    #expect(token["accessToken"]?.stringValue?.isEmpty == false)
  }

  /// Moves the clock until the daemon refreshes the token, but not to the end of the grant.
  private func expectRefresh(_ fixture: PaysafeFixture, _ clock: MovableClock) throws {
    let before = try fixture.requests("token", grantType: "refresh_token")
    try eventually("the daemon refreshes the token", moving: clock, by: 30, atMost: 1700) {
      try fixture.requests("token", grantType: "refresh_token") > before
    }
  }

  @Test("account.forget removes a Paysafe account and reports its revocation as skipped")
  func forgetting() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let reply = try fixture.app.call("account.forget", ["provider": "paysafe"])
    #expect(reply["revoked"] == "skipped", "\(reply.text)")
    #expect(try fixture.app.call("account.list")["accounts"] == [])
  }

  @Test("provider.check reports Paysafe as healthy, but not with a wrong client secret")
  func check() throws {
    let fixture = try PaysafeFixture()
    let good = try fixture.daemon.admin().call("provider.check", ["provider": "paysafe"])
    #expect(good["healthy"] == true, "\(good.text)")
    try fixture.daemon.setCredential("paysafe-client-secret", "wrong")
    let bad = try fixture.daemon.admin().call("provider.check", ["provider": "paysafe"])
    #expect(bad["healthy"] == false, "\(bad.text)")
  }
}

extension RawClient {
  /// Returns the `what` of the next event.
  fileprivate func nextEvent() throws -> String? {
    while let message = try receive() {
      if let event = message["params"]?["event"] { return event["what"]?.stringValue }
    }
    return nil
  }
}
