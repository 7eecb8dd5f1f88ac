import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Tools get the tokens of accounts by the targets of the configuration.
@Suite("Tokens for what tools ask for", .mayBlock, .timeLimit(.minutes(10)))
struct TargetTests {
  private static let mail = "https://mail.example.com"
  private static let repository = "https://git.example/team/app.git"

  private static let targets = """
    [[target]]
    kind = "git"
    match = "https://git.example/mail/*"
    provider = "demo"
    audience = "\(mail)"
    [[target]]
    kind = "git"
    match = "https://git.example/*"
    provider = "demo"
    username = "oauth2"
    [[target]]
    kind = "kubernetes"
    match = "https://cluster.example:6443"
    provider = "demo"
    field = "idToken"
    [[target]]
    kind = "docker"
    match = "registry.example"
    account = "acc_foreign"

    """

  /// Returns a fixture with the targets and more tables.
  private func fixture(_ more: String = "") throws -> OIDCFixture {
    try OIDCFixture(
      provider: """
        audience_parameter = "resource"
        audiences = ["\(Self.mail)"]
        """, more: { _ in Self.targets + more })
  }

  /// Returns a rule that matches this process.
  private func rule(_ allow: String, _ more: String = "") -> String {
    """
    [[client]]
    name = "helper"
    match = { user = \(getuid()) }
    allow = ["flow.*", \(allow)]
    \(more)

    """
  }

  private func git(_ name: String = repository, _ more: [String: JSONValue] = [:]) -> JSONValue {
    .object(["kind": "git", "name": .string(name)].merging(more) { $1 })
  }

  private func token(
    _ fixture: OIDCFixture, _ params: JSONValue
  ) throws -> JSONValue { try fixture.app.call("token.forTarget", params) }

  private func error(_ fixture: OIDCFixture, _ params: JSONValue) throws -> JSONValue {
    try fixture.app.error(of: "token.forTarget", params)
  }

  @Test("token.forTarget replies as token.get does, with the target's user name and pattern")
  func reply() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    var expected = try fixture.token()
    let reply = try token(fixture, git())
    expected["username"] = "oauth2"
    expected["match"] = "https://git.example/*"
    #expect(reply == expected)
    #expect(try token(fixture, git("HTTPS://GIT.example:443/other?x=y")) == reply)
    // Without a user name, the reply has only the pattern besides.
    var forMail = try fixture.token(["provider": "demo", "audience": .string(Self.mail)])
    forMail["match"] = "https://git.example/mail/*"
    #expect(try token(fixture, git("https://git.example/mail/x")) == forMail)
    #expect(forMail["accessToken"] != reply["accessToken"])
    let cluster: JSONValue = ["kind": "kubernetes", "name": "https://cluster.example:6443/"]
    let identity = try token(fixture, cluster)
    #expect(identity["accessToken"] == nil)
    #expect(
      try identity["idToken"] == fixture.token(["provider": "demo", "field": "idToken"])["idToken"])
  }

  @Test("forceRefresh replaces the token of a target once, within the limit of token.get")
  func forced() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    let first = try token(fixture, git())
    let second = try token(fixture, git(Self.repository, ["forceRefresh": true]))
    #expect(second["accessToken"] != first["accessToken"])
    #expect(second["username"] == "oauth2" && second["match"] == "https://git.example/*")
    #expect(
      try error(fixture, git(Self.repository, ["forceRefresh": true])).data["reason"]
        == "rate_limited")
    #expect(try fixture.token()["accessToken"] == second["accessToken"])
    #expect(try fixture.refreshes == 1)
  }

  @Test(
    "a repeated call is answered from memory, with its own id, until a reload removes the target")
  func cached() throws {
    let fixture = try fixture()
    try fixture.app.signIn()
    let first = try token(fixture, git())
    for _ in 0..<5 { #expect(try token(fixture, git()) == first) }
    // The same bytes of params are refused by token.get.
    #expect(try fixture.app.reason(of: "token.get", git()) == "invalid_params")
    let rows = try fixture.daemon.admin().call("audit.list", ["method": "token.forTarget"])["rows"]
    #expect(rows?.arrayValue?.allSatisfy { $0["outcome"] == "ok" } == true)
    try fixture.daemon.place.write(fixture.sandbox.provider(), to: "usherd.toml")
    #expect(try fixture.daemon.admin().call("system.reload")["problems"] == [])
    #expect(try fixture.app.reason(of: "token.forTarget", git()) == "no_target")
  }

  @Test("without a sign-in, or without a target, the error says what is missing")
  func missing() throws {
    let fixture = try fixture()
    let unsigned = try error(fixture, git())
    #expect(unsigned.data["reason"] == "interaction_required")
    #expect(unsigned.data["next"]?["params"]?["provider"] == "demo")
    let unknown = try error(fixture, git("https://git.example.evil/team/app.git"))
    #expect(unknown.data["reason"] == "no_target" && unknown["code"] == 1004)
    let message = unknown["message"]?.stringValue ?? ""
    #expect(message.contains("kind = \"git\", match = \"https://git.example.evil/*\""))
    for name in ["https://user@git.example/a", "https://git.example/a/../b", "a b"] {
      let malformed = try error(fixture, git(name)).data
      #expect(malformed["reason"] == "invalid_params" && malformed["field"] == "name")
    }
    let foreign = try error(fixture, ["kind": "docker", "name": "registry.example"])
    #expect(foreign.data["reason"] == "not_found")
    #expect(foreign["message"]?.stringValue?.contains("docker/registry.example") == true)
  }

  @Test("a rule by the target is enough for its token, and for nothing else")
  func ruled() throws {
    let fixture = try fixture(rule("\"token.forTarget git/https://git.example/team/*\""))
    try fixture.app.signIn()
    let reply = try token(fixture, git())
    #expect(reply["accessToken"] != nil)
    #expect(try fixture.app.reason(of: "token.get", ["provider": "demo"]) == "permission_denied")
    for params: JSONValue in [
      git("https://git.example/mail/x"), git("https://git.example.evil/team/x"),
      ["kind": "kubernetes", "name": "https://cluster.example:6443"],
      ["kind": "docker", "name": "ghcr.io"],
    ] {
      let refusal = try error(fixture, params)
      #expect(refusal.data["reason"] == "permission_denied")
    }
    // The texts for a target that exists and for one that does not differ in the name only.
    let texts = try ["mail/x", "none/x"].map { path in
      let text = try error(fixture, git("https://git.example/\(path)"))["message"]?.stringValue
      return (text ?? "").replacing(path, with: "PATH")
    }
    #expect(texts[0] == texts[1])
    #expect(texts[0].contains("allow = [\"token.forTarget git/https://git.example/*\"]"))
    let listed = try fixture.app.call("target.list")["targets"]?.arrayValue ?? []
    #expect(listed.map { $0["match"] } == ["https://git.example/*"])
    #expect(
      try fixture.app.reason(of: "target.resolve", git("https://git.example/mail/x"))
        == "permission_denied")
  }

  @Test("the audit names the target of an allowed call, and what a denied call asked for")
  func audited() throws {
    let fixture = try fixture(rule("\"token.forTarget git\""))
    try fixture.app.signIn()
    _ = try token(fixture, git())
    _ = try error(fixture, ["kind": "docker", "name": "ghcr.io"])
    let rows = try fixture.daemon.admin().call("audit.list", ["method": "token.forTarget"])["rows"]
    let lines = (rows?.arrayValue ?? []).map { row in
      ["target", "outcome", "rule", "provider"].map { row[$0]?.stringValue ?? "" }
    }
    #expect(
      lines == [
        ["git/https://git.example/*", "ok", "helper", "demo"],
        ["docker/ghcr.io", "permission_denied", "helper", ""],
      ])
    #expect(rows?.arrayValue?.first?["account"] != nil)
  }

  @Test("a rule with confirm asks a person about the target, and the answer is for it alone")
  func confirmed() throws {
    let fixture = try fixture(rule("\"token.forTarget git\"", "confirm = true"))
    let admin = try fixture.daemon.admin()
    let app = fixture.app
    // The sign-in itself must be confirmed, too.
    let start: JSONValue = ["provider": "demo", "kind": "authorize", "params": [:]]
    let asked = try app.error(of: "flow.start", start).data["confirmation"] ?? .null
    _ = try admin.call(
      "confirm.answer", ["confirmation": asked, "allow": true, "remember": "once"])
    try app.signIn()
    let question = try error(fixture, git()).data
    #expect(question["reason"] == "interaction_required")
    let open = try admin.call("confirm.list")["questions"]?.arrayValue ?? []
    #expect(open.map { $0["about"]?["target"] } == ["git/https://git.example/*"])
    _ = try admin.call(
      "confirm.answer",
      ["confirmation": question["confirmation"] ?? .null, "allow": true, "remember": "session"])
    #expect(try token(fixture, git())["accessToken"] != nil)
    #expect(
      try error(fixture, git("https://git.example/mail/x")).data["reason"]
        == "interaction_required")
  }

  @Test(
    "target.resolve tells the target, account and rights without a token and without the provider")
  func resolved() throws {
    let fixture = try fixture(rule("\"token.forTarget\""))
    var reply = try fixture.app.call("target.resolve", git())
    #expect(reply["allowed"] == false && reply["reason"] == "interaction_required")
    #expect(reply["target"]?["match"] == "https://git.example/*" && reply["account"] == nil)
    #expect(reply["next"]?["params"]?["provider"] == "demo")
    let account = try fixture.app.signIn()["result"]?["account"] ?? .null
    try fixture.forgetRequests()
    reply = try fixture.app.call("target.resolve", git())
    #expect(reply["allowed"] == true && reply["account"] == account && reply["message"] == nil)
    #expect(!reply.hasSecret)
    // A bare token.forTarget does not cover ID tokens.
    let cluster: JSONValue = ["kind": "kubernetes", "name": "https://cluster.example:6443"]
    reply = try fixture.app.call("target.resolve", cluster)
    #expect(reply["allowed"] == false && reply["reason"] == "permission_denied")
    #expect(try fixture.app.reason(of: "token.forTarget", cluster) == "permission_denied")
    #expect(try fixture.requests("token") == 0)
  }

  @Test("usherctl target list and target test show the targets, the steps and the missing lines")
  func commands() throws {
    let fixture = try fixture()
    let list = try fixture.daemon.usherctl(["target", "list"])
    #expect(list.status == 0 && list.output.contains(/git +https:..git\.example.mail.\* +demo/))
    let unsigned = try fixture.daemon.usherctl(["target", "test", "git", Self.repository])
    #expect(unsigned.status == 1)
    #expect(unsigned.output.contains("1. target   git https://git.example/* answers"))
    #expect(unsigned.output.contains("2. account  none of yours at provider demo"))
    #expect(unsigned.output.contains("try: usherctl login demo"))
    let account = try fixture.app.signIn()["result"]?["account"]?.stringValue ?? ""
    let signedIn = try fixture.daemon.usherctl(["target", "test", "git", Self.repository])
    #expect(signedIn.status == 0)
    #expect(signedIn.output.contains("2. account  \(account) at provider demo"))
    #expect(signedIn.output.contains("3. token    access token, user name oauth2"))
    #expect(signedIn.output.contains("4. rights   allowed"))
    let none = try fixture.daemon.usherctl(["target", "test", "docker", "ghcr.io"])
    #expect(none.status == 1)
    #expect(
      none.output.contains(
        "[[target]]\nkind = \"docker\"\nmatch = \"ghcr.io\"\nprovider = \"PROVIDER\"\n"))
  }

  @Test(
    "a target that never answers is a warning of config check and in the journal, and no error",
    .ownProcess)
  func unreachable() throws {
    let shadowed =
      "[[target]]\nkind = \"git\"\nmatch = \"https://git.example/a\"\nprovider = \"demo\"\n"
    let fixture = try fixture(shadowed)
    let file = fixture.daemon.place.file("usherd.toml")
    let check = try fixture.daemon.usherctl(["config", "check", file])
    #expect(check.status == 0)
    #expect(check.errors.contains("target[4].match: never answers: an earlier target at"))
    #expect(fixture.daemon.log.contains("never answers: an earlier target at"))
  }
}
