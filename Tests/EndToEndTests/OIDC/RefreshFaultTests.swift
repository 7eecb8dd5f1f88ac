import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "tokens are renewed by a provider that fails", .mayBlock, .timeLimit(.minutes(10)))
struct RefreshFaultTests {
  let scene: Scene

  init() throws { scene = try Scene(provider: "request_timeout_seconds = 1") }

  private func expectUnreachable(_ error: JSONValue) throws -> Int64 {
    #expect(error["code"] == 1302)
    #expect(error.data["reason"] == "provider_unreachable")
    #expect(error.data["retryable"] == true)
    #expect(!error.hasSecret)
    return try #require(error.data["retryAfterMs"]?.integerValue)
  }

  @Test(
    "down: the caller is told when to come back, and then it works",
    arguments: ProviderFault.passing.filter { $0.testDescription != "half a body" })
  func down(_ fault: ProviderFault) throws {
    try scene.signInWithExpiredToken()
    try scene.spoil("token", fault.json, times: 1)
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    let pause = try expectUnreachable(error)
    #expect((1...1000).contains(pause))
    try eventually("there is a token again") { (try? scene.token()) != nil }
    #expect(try scene.refreshes == 2)
  }

  @Test("an answer that cannot be read is said to be one", arguments: ProviderFault.lasting)
  func unusable(_ fault: ProviderFault) throws {
    try scene.signInWithExpiredToken()
    try scene.spoil("token", fault.json, times: 1)
    let error = try scene.app.error(of: "token.get", ["provider": "demo"])
    #expect(error["code"] == 1303)
    #expect(error.data["reason"] == "provider_protocol_error")
    #expect(!error.hasSecret)
    try eventually("there is a token again") { (try? scene.token()) != nil }
  }

  @Test("many callers of a provider that is down are no storm, and the pauses grow")
  func storm() throws {
    try scene.signInWithExpiredToken()
    try scene.spoil("token", ["status": 503], grantType: "refresh_token")
    for _ in 0..<50 {
      let error = try scene.app.error(of: "token.get", ["provider": "demo"])
      #expect(try expectUnreachable(error) <= 1000)
    }
    #expect(try scene.refreshes == 1)
    var longest: Int64 = 0
    try eventually("it is asked a second time") {
      let error = try scene.app.error(of: "token.get", ["provider": "demo"])
      longest = try expectUnreachable(error)
      return try scene.refreshes == 2
    }
    #expect((1001...2000).contains(longest))
    try scene.mend()
    try eventually("there is a token again") { (try? scene.token()) != nil }
    #expect(try scene.refreshes == 3)
  }

  @Test("a token that still lives is served while the provider is down")
  func stillAlive() throws {
    try scene.set(["accessTokenSeconds": 4])
    try scene.app.signIn()
    let token = try scene.token()
    try scene.spoil("token", ["reset": true], grantType: "refresh_token")
    // Half its life is as much as can be asked for: after that a refresh is due.
    try eventually("a refresh is due") {
      #expect(try scene.token(["provider": "demo", "minValidSeconds": 86_400]) == token)
      return try scene.refreshes > 0
    }
    #expect(try scene.token(["provider": "demo", "minValidSeconds": 86_400]) == token)
    // Who wants another one is told why there is none.
    let forced: JSONValue = ["provider": "demo", "forceRefresh": true]
    #expect(try scene.app.reason(of: "token.get", forced) == "provider_unreachable")
    #expect(try scene.refreshes == 1)
    try eventually("the token has died") {
      (try? scene.token(["provider": "demo", "minValidSeconds": 0])) == nil
    }
    _ = try expectUnreachable(scene.app.error(of: "token.get", ["provider": "demo"]))
  }

  @Test(
    "a provider that asks for a pause gets it", arguments: [(503, "7"), (429, "7"), (429, "9999")])
  func retryAfter(_ status: Int, _ seconds: String) throws {
    try scene.signInWithExpiredToken()
    let place = try Workplace()
    let script = "\(#filePath)".replacing("RefreshFaultTests.swift", with: "retry-after.py")
    let busy = try RunningProgram(
      "/usr/bin/python3", [script, "\(status)", seconds], log: place.file("log"))
    try eventually("it listens") { busy.log.hasSuffix("\n") }
    let port = busy.log.dropFirst("port ".count).prefix(while: \.isNumber)
    try scene.set([
      "discovery": ["token_endpoint": .string("http://127.0.0.1:\(port)/token")]
    ])
    // What it knew of the provider is from before.
    try scene.daemon.restart()
    let app = try scene.daemon.client()
    let wanted = try #require(Int64(seconds)) * 1000
    for _ in 0..<5 {
      let error = try app.error(of: "token.get", ["provider": "demo"])
      let pause = try expectUnreachable(error)
      // Whatever it asks for, an hour is the most.
      #expect((min(wanted, 3_600_000) - 3000...min(wanted, 3_600_000)).contains(pause))
    }
    #expect(busy.log.split(separator: "\n").count { $0 == "asked" } == 1)
  }

  @Test("a provider that is gone altogether is unreachable, not an endless wait")
  func gone() throws {
    try scene.signInWithExpiredToken()
    scene.sandbox.killAtOnce()
    let error = try scene.app.error(of: "token.get", ["provider": "demo"], within: 20)
    _ = try expectUnreachable(error)
    try scene.daemon.restart()
    let app = try scene.daemon.client()
    _ = try expectUnreachable(app.error(of: "token.get", ["provider": "demo"], within: 20))
    #expect(try app.call("account.list", [:])["accounts"]?.arrayValue?.count == 1)
  }
}
