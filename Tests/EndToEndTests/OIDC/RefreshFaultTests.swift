import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Provider faults during a refresh", .mayBlock, .timeLimit(.minutes(10)))
struct RefreshFaultTests {
  let fixture: OIDCFixture
  private let clock = MovableClock()

  init() throws { fixture = try OIDCFixture(clock) }

  private func expectUnreachable(_ error: JSONValue) throws -> Int64 {
    #expect(error["code"] == 1302)
    #expect(error.data["reason"] == "provider_unreachable")
    #expect(error.data["retryable"] == true)
    #expect(!error.hasSecret)
    return try #require(error.data["retryAfterMs"]?.integerValue)
  }

  private func error() throws -> JSONValue {
    try fixture.app.error(of: "token.get", ["provider": "demo"])
  }

  /// Lets seven refreshes fail, each as soon as the pause after the previous one is over. The last
  /// pause is a minute, which is long enough for a slow machine.
  ///
  /// - Parameter ask: Asks for a token. Its argument is the longest pause after this failure, in
  ///   milliseconds.
  private func growPause(_ ask: (Int64) throws -> Void) throws {
    for failures in 0..<7 {
      let pause = min(Int64(1) << failures, 60)
      try ask(pause * 1000)
      #expect(try fixture.refreshes == failures + 1)
      if failures < 6 { try clock.advance(by: pause) }
    }
  }

  @Test(
    "an unreadable reply to a refresh gives provider_protocol_error, and the next refresh succeeds")
  func unusable() throws {
    try fixture.signInWithExpiredToken()
    try fixture.spoil("token", ["brokenJSON": true], times: 1)
    let error = try error()
    #expect(error["code"] == 1303)
    #expect(error.data["reason"] == "provider_protocol_error")
    #expect(!error.hasSecret)
    try clock.advance(by: 2)
    #expect(try fixture.token()["accessToken"]?.stringValue?.isEmpty == false)
  }

  @Test(
    "failing refreshes are repeated after growing pauses only, and retryAfterMs tells the pause")
  func storm() throws {
    try fixture.signInWithExpiredToken()
    try fixture.spoil("token", ["status": 503], grantType: "refresh_token")
    var shorter: Int64 = 0
    try growPause { longest in
      let pause = try expectUnreachable(error())
      #expect((shorter + 1...longest).contains(pause))
      shorter = longest
    }
    for _ in 0..<10 {
      #expect(try (1...60_000).contains(expectUnreachable(error())))
    }
    #expect(try fixture.refreshes == 7)
    try fixture.mend()
    try clock.advance(by: 60)
    #expect(try fixture.token()["accessToken"]?.stringValue?.isEmpty == false)
    #expect(try fixture.refreshes == 8)
  }

  @Test("token.get returns the token until it expires although its refreshes fail")
  func stillAlive() throws {
    try fixture.set(["accessTokenSeconds": 400])
    try fixture.app.signIn()
    let token = try fixture.token()
    try fixture.spoil("token", ["reset": true], grantType: "refresh_token")
    // minValidSeconds is limited to half the token's lifetime: a refresh is due only after that.
    let long: JSONValue = ["provider": "demo", "minValidSeconds": 86_400]
    #expect(try fixture.token(long) == token)
    #expect(try fixture.refreshes == 0)
    try clock.advance(by: 201)
    try growPause { _ in
      let served = try fixture.token(long)
      #expect(served == token)
    }
    #expect(try fixture.token(long) == token)
    // A forced refresh gets the provider's error.
    let forced: JSONValue = ["provider": "demo", "forceRefresh": true]
    #expect(try fixture.app.reason(of: "token.get", forced) == "provider_unreachable")
    #expect(try fixture.refreshes == 7)
    try clock.advance(by: 200)
    _ = try expectUnreachable(error())
  }

  @Test("a refresh waits as long as the provider's Retry-After says, but at most one hour")
  func retryAfter() throws {
    try fixture.signInWithExpiredToken()
    for (seconds, pause) in [("90", 90_000), ("9999", 3_600_000)] as [(String, Int64)] {
      try fixture.spoil("token", ["status": 429, "headers": ["Retry-After": .string(seconds)]])
      try fixture.forgetRequests()
      for _ in 0..<5 {
        #expect(try (pause - 60_000...pause).contains(expectUnreachable(error())))
      }
      #expect(try fixture.refreshes == 1)
      try fixture.mend()
      try clock.advance(by: 91)
    }
  }
}
