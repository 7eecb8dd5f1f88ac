import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "tokens that still live after a revocation", .mayBlock, .timeLimit(.minutes(10)))
struct RevocationTests {
  let scene: Scene

  init() throws { scene = try Scene(provider: "request_timeout_seconds = 1") }

  /// Forgets the one account.
  private func forget(_ app: RawClient? = nil) throws -> JSONValue {
    try (app ?? scene.app).call("account.forget", ["provider": "demo"], within: 60)
  }

  private func kinds(_ reply: JSONValue) -> [JSONValue?]? {
    reply["living"]?.arrayValue?.map { $0["token"] }
  }

  private func reasons(_ reply: JSONValue) -> Set<JSONValue?>? {
    reply["living"]?.arrayValue.map { Set($0.map { $0["why"] }) }
  }

  /// The rows of the audit about revocations that went on after their call.
  private func rows() throws -> [JSONValue] {
    let reply = try scene.daemon.admin().call("audit.list", ["method": "token.revocation"])
    return reply["rows"]?.arrayValue ?? []
  }

  @Test("account.forget tells which tokens the provider refused to revoke")
  func refused() throws {
    try scene.app.signIn()
    try scene.spoil("revocation", ["status": 403])
    let reply = try forget()
    #expect(reply["revoked"] == "failed")
    // The second access token was fetched for the revocation: some servers ask for a fresh one.
    #expect(kinds(reply) == ["refresh_token", "access_token", "access_token"], "\(reply.text)")
    #expect(reasons(reply) == ["refused"], "\(reply.text)")
    #expect(reply["retriedUntil"] == nil)
    #expect(reply["living"]?.arrayValue?.last?["expiresAt"]?.stringValue != nil)
  }

  @Test("account.forget tells that the provider has no revocation endpoint")
  func unsupported() throws {
    try scene.set(["discovery": ["revocation_endpoint": nil]])
    try scene.app.signIn()
    let reply = try forget()
    #expect(reply["revoked"] == "skipped")
    #expect(kinds(reply) == ["refresh_token", "access_token"], "\(reply.text)")
    #expect(reasons(reply) == ["unsupported"], "\(reply.text)")
  }

  @Test("account.forget without revocation tells that all tokens live on")
  func notAsked() throws {
    try scene.app.signIn()
    let reply = try scene.app.call("account.forget", ["provider": "demo", "revoke": false])
    #expect(kinds(reply) == ["refresh_token", "access_token"], "\(reply.text)")
    #expect(reasons(reply) == ["not_asked"], "\(reply.text)")
  }

  @Test("a revocation that the provider puts off goes on after the call, and the audit has its end")
  func background() throws {
    try scene.app.signIn()
    let token = try scene.token()
    try scene.spoil("revocation", ["status": 503])
    let reply = try forget()
    #expect(reply["revoked"] == "failed")
    #expect(reasons(reply) == ["unreachable"], "\(reply.text)")
    #expect(reply["retriedUntil"]?.stringValue != nil, "\(reply.text)")
    try scene.mend()
    try eventually("the token is revoked") {
      try scene.userinfo(token["accessToken"]).status == 401
    }
    try eventually("the audit has the revocation") { try rows().count == 1 }
    #expect(try rows().first?["outcome"] == "ok")
    #expect(try rows().first?["account"] == reply["account"])
  }

  @Test(
    "a revocation goes on after kill -9", .ownProcess,
    arguments: ["account.forget", "token.revoke"])
  func killed(_ method: String) throws {
    try scene.app.signIn()
    let token = try scene.token()
    try scene.spoil("revocation", ["status": 503])
    _ = try scene.app.call(method, ["provider": "demo"], within: 60)
    scene.daemon.killAtOnce()
    try scene.mend()
    try scene.daemon.start()
    try eventually("the token is revoked") {
      try scene.userinfo(token["accessToken"]).status == 401
    }
    try eventually("the audit has the revocation") { try rows().count == 1 }
    let secret = Data((token["accessToken"]?.stringValue ?? "").utf8)
    for file in scene.daemon.place.everything() where file.name.hasPrefix("state/") {
      #expect(file.bytes.range(of: secret) == nil, "\(file.name)")
    }
  }
}
