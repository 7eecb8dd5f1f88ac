import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The daemon dies while it refreshes a token.
@Suite("Deaths of usherd during a refresh", .mayBlock, .timeLimit(.minutes(10)), .ownProcess)
struct RefreshDeathTests {
  static let points = [
    "refresh.before-send", "refresh.after-reply", "store.before-commit", "store.after-commit",
    "refresh.after-commit",
  ]

  enum Rotation: String, CaseIterable { case graceful, strict }

  /// Whether the provider binds the tokens to a key (DPoP, RFC 9449).
  enum Binding: Sendable {
    case bearer
    case atSignIn
    /// The grant gets its key by the refresh, because it is older than the setting.
    case atRefresh
  }

  /// One more than a refresh passes any point. It commits most often if it also gives the grant a
  /// key: four times, among them a trial that shows that the store accepts writes, and the result.
  private static let passings = 5

  /// Each point at its first and later passings; no refresh reaches the last number.
  static let deaths = points.flatMap { point in (1...passings).map { "\(point):\($0)" } }

  @Test(
    "a death at any point of a refresh loses no returned or stored token",
    arguments: [
      (.graceful, .bearer), (.strict, .bearer), (.graceful, .atSignIn), (.strict, .atSignIn),
      (.graceful, .atRefresh),
    ] as [(Rotation, Binding)])
  func refresh(rotation: Rotation, binding: Binding) throws {
    let sandbox = try SandboxUnderTest()
    try sandbox.control(
      "POST", "settings",
      ["refreshRotation": .string(rotation.rawValue), "accessTokenSeconds": 1])
    let daemons = try atOnce(0..<Self.deaths.count) { _ in try signedIn(sandbox, binding) }
    // The tokens issued so far expire soon; the next ones live 300 seconds.
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 300])
    let lived = try atOnce(0..<Self.deaths.count) { index in
      let (daemon, point) = (daemons[index], Self.deaths[index])
      let hasLived = try outlives(rotation, sandbox, daemon, point)
      if binding != .bearer { try checkProof(daemon, sandbox, point) }
      return hasLived
    }
    for (index, point) in Self.points.enumerated() {
      let (first, last) = (index * Self.passings, (index + 1) * Self.passings - 1)
      #expect(!lived[first], "the daemon did not die at the first pass of \(point)")
      #expect(lived[last], "the daemon died even at the last pass of \(point)")
    }
  }

  @Test("a revoked grant needs a new sign-in, wherever usherd dies while it processes the refusal")
  func deadGrant() throws {
    let sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 1])
    let points = Self.deaths.filter { $0.hasPrefix("store.") || $0.contains("after-reply") }
    let daemons = try atOnce(0..<points.count) { _ in try signedIn(sandbox) }
    try sandbox.control("POST", "revokeAll")
    let died = try atOnce(0..<points.count) { index in
      let daemon = daemons[index]
      try? daemon.start(environment: ["USHER_FAILPOINT": points[index]])
      let told = try? daemon.client().reply(to: "token.get", ["provider": "demo"])
      let isDead = told == nil && (try? daemon.exitStatus(within: 30)) == -SIGKILL
      daemon.killAtOnce()
      try daemon.start(environment: ["USHER_FAILPOINT": ""])
      let reason = try daemon.client().reason(of: "token.get", ["provider": "demo"])
      try must(
        reason == "reauthentication_required", "\(points[index]): token.get failed with \(reason)")
      return isDead
    }
    #expect(died.count { $0 } >= 3)
  }

  /// Checks that the token is bound to the key that the daemon has for it: the provider's userinfo
  /// endpoint accepts it with a proof.
  private func checkProof(
    _ daemon: DaemonUnderTest, _ sandbox: SandboxUnderTest, _ point: String
  ) throws {
    let url = "\(sandbox.issuer)/userinfo"
    let reply = try daemon.client().call(
      "token.proof", ["provider": "demo", "method": "GET", "url": .string(url)])
    let (token, proof) = (reply["accessToken"]?.stringValue, reply["proof"]?.stringValue)
    let answer = try Web.send(
      "GET", url, headers: ["Authorization": "DPoP \(token ?? "")", "DPoP": proof ?? ""])
    try must(answer.status == 200, "\(point): the service refuses the proof: \(answer.text)")
  }

  private func signedIn(
    _ sandbox: SandboxUnderTest, _ binding: Binding = .bearer
  ) throws -> DaemonUnderTest {
    let bound = sandbox.provider(more: "dpop = true")
    let daemon = try DaemonUnderTest(config: binding == .atSignIn ? bound : sandbox.provider())
    let client = try daemon.client()
    try client.signIn()
    try eventually("the first token has expired") {
      let tokens = try client.call("token.list", ["provider": "demo"])["tokens"]?.arrayValue
      return tokens?.first?["token"]?["status"] == "refreshable"
    }
    daemon.killAtOnce()
    if binding == .atRefresh { try daemon.place.write(bound, to: "usherd.toml") }
    return daemon
  }

  /// Refreshes a token with an armed fail point, and checks the state after a restart.
  ///
  /// - Returns: Whether the daemon survived the refresh.
  private func outlives(
    _ rotation: Rotation, _ sandbox: SandboxUnderTest, _ daemon: DaemonUnderTest, _ point: String
  ) throws -> Bool {
    try? daemon.start(environment: ["USHER_FAILPOINT": point])
    let reply = try? daemon.client().reply(to: "token.get", ["provider": "demo"])
    let told = reply?["result"]
    let isDead = told == nil && (try? daemon.exitStatus(within: 30)) == -SIGKILL
    try must(
      isDead || told != nil,
      "\(point): the daemon neither died nor returned a token: \(reply?.text ?? "")")
    daemon.killAtOnce()
    try daemon.start(environment: ["USHER_FAILPOINT": ""])
    do {
      try check(told: told, rotation, daemon, sandbox, point)
    } catch {
      throw TestError("\(rotation) \(point): \(error); \(daemon.log)")
    }
    return !isDead
  }

  private func check(
    told: JSONValue?, _ rotation: Rotation, _ daemon: DaemonUnderTest,
    _ sandbox: SandboxUnderTest, _ point: String
  ) throws {
    let client = try daemon.client()
    let reply = try client.reply(to: "token.get", ["provider": "demo"])
    if let told {
      return try must(
        reply["result"]?["accessToken"] == told["accessToken"],
        "the token that token.get returned before the restart is lost")
    }
    if let token = reply["result"]?["accessToken"]?.stringValue {
      return try must(try sandbox.honours(token), "the provider refuses the token")
    }
    // A token can be lost only with strict rotation, if the provider sent it and it was not stored.
    try must(rotation == .strict, "a token was lost without strict rotation: \(reply.text)")
    try must(
      point.hasPrefix("refresh.after-reply") || point.hasPrefix("store.before-commit"),
      "a stored token is lost: \(reply.text)")
    try signInAgain(as: reply["error"]?["data"], client, sandbox)
  }

  /// Makes the call that the error names in `next`, and signs in.
  private func signInAgain(
    as advice: JSONValue?, _ client: RawClient, _ sandbox: SandboxUnderTest
  ) throws {
    try must(
      advice?["reason"] == "reauthentication_required",
      "unexpected error: \(advice?.text ?? "none")")
    guard let next = advice?["next"], let method = next["method"]?.stringValue else {
      throw TestError("the error has no next call: \(advice?.text ?? "")")
    }
    let account = try client.call("account.list")["accounts"]?.arrayValue?.first?["id"]
    var params = next["params"]
    params?["waitMs"] = 50_000
    let flow = try client.flow(in: client.call(method, params))
    guard let url = flow["step"]?["url"]?.stringValue else {
      throw TestError("the flow has no page to open: \(flow.text)")
    }
    try Person.signIn(at: url)
    let end = try client.finished(flow)
    try must(
      end["result"]?["account"] == account, "the new sign-in is of another account: \(end.text)")
    let token = try client.call("token.get", ["provider": "demo"])["accessToken"]?.stringValue
    try must(try token.map(sandbox.honours) == true, "the provider refuses the new token")
  }
}
