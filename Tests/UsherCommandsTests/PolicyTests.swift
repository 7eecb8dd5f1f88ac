import FoundationEssentials
import JSONRPC
import Testing
import UsherCommands
import UsherTestKit

@Suite("usherctl policy", .timeLimit(.minutes(10)))
struct PolicyTests {
  private static let reply = #"""
    {"allowed":true,"rule":"till","why":"rule till lists it as \"token.get work\"",
     "conditions":{"localAuthSeconds":300,"confirmation":true,"scopes":["openid","email"],
     "fields":[]},"client":"till","owner":"client","lenders":["shop","bank"],"confirms":["kiosk"],
     "considered":[{"rule":"first","allows":false,"why":"does not list the call"},
     {"rule":"till","file":"/etc/usherd/usherd.toml","line":12,"allows":true,
      "why":"lists it as \"token.get work\""}]}
    """#

  private func ask(_ line: String, _ exchange: Exchange) async throws -> Outcome {
    try await usherctl(
      "policy \(line)", asking: [exchange], sockets: ["USHER_ADMIN_SOCKET"])
  }

  @Test("usherctl policy check prints the decision, its conditions and each rule, and exits with 0")
  func allowed() async throws {
    let outcome = try await ask(
      "check --unit pos.service token.get work",
      .ask(
        "policy.check", ["unit": "pos.service", "method": "token.get", "provider": "work"],
        Self.oneLine(Self.reply)))
    #expect(
      outcome.output == """
        allowed: rule till lists it as "token.get work"
          if                    the user proved presence within the last 300 s, and a person \
        approves
          scopes at most        openid, email
          members shown         none
          client                till
          accounts are          the client's
          may read accounts of  shop, bank
          answers questions of  kiosk

        RULE   WHERE                       SAYS
        first  -                           does not list the call
        till   /etc/usherd/usherd.toml:12  lists it as "token.get work"

        """)
    #expect(outcome.status == 0)
  }

  @Test("usherctl policy check exits with 1 for a denied call and prints the error for the caller")
  func denied() async throws {
    let reply = """
      {"allowed":false,"rule":"(no rule)","why":"no rule matches the caller",\
      "reason":"permission_denied","retryAfterMs":37260000,"client":"(user)","owner":"user",\
      "lenders":[],"confirms":[],"considered":[]}
      """
    let outcome = try await ask(
      "check system.lock", .ask("policy.check", ["method": "system.lock"], reply))
    #expect(
      outcome.output == """
        denied: no rule matches the caller
          error reason      permission_denied
          allowed again in  10 h 21 min
          client            (user)
          accounts are      the user's

        """)
    #expect(outcome.error == "")
    #expect(outcome.status == 1)
  }

  @Test("usherctl policy check sends all its options, and --json prints the reply unchanged")
  func everything() async throws {
    let outcome = try await ask(
      """
      check --client till --user anna --group tills --group 50 --unit till.service \
      --executable /usr/bin/till flow.start paysafe/operation --operation GET:/wallets/7 \
      --account acc_1 --subject 18233 --scope openid --at Mon --json
      """,
      .ask(
        "policy.check",
        [
          "client": "till", "user": "anna", "groups": ["tills", "50"], "unit": "till.service",
          "executable": "/usr/bin/till", "method": "flow.start", "provider": "paysafe",
          "kind": "operation", "operation": "GET:/wallets/7", "account": "acc_1",
          "subject": "18233", "scope": "openid", "at": "Mon",
        ], Self.oneLine(Self.reply)))
    #expect(outcome.output.hasPrefix(#"{"allowed":true,"rule":"till","#))
    #expect(outcome.output.filter { $0 == "\n" }.count == 1)
  }

  @Test("usherctl policy show prints the rules with their places, and what holds without a rule")
  func show() async throws {
    let reply = """
      {"group":"usher","rules":[{"name":"till","file":"/etc/usherd/usherd.toml","line":12,\
      "settings":{"match":{"user":"till","unit":"till.service"},"confirm":true,\
      "allow":["token.get work","token.list"],"require_local_auth_seconds":300}},\
      {"name":"none","settings":{"match":{"user":"7"},"allow":[]}}]}
      """
    let outcome = try await ask("show", .ask("policy.list", reply))
    #expect(
      outcome.output == """
        rule till (/etc/usherd/usherd.toml:12)
          match                       unit till.service, user till
          allow                       token.get work, token.list
          confirm                     yes
          require_local_auth_seconds  300

        rule none
          match  user 7
          allow  nothing

        Callers that no rule matches: root and the daemon's own user may do everything, members of
        usher everything except locking, others nothing. Rules do not apply on the admin socket.

        """)
    #expect(outcome.status == 0)
  }

  // MARK: Without a daemon

  private static let rules = """
    [[provider]]
    name = "work"
    type = "oidc"
    issuer = "https://id.example.com"
    client_id = "usher"

    [[client]]
    name = "till"
    match = { unit = "till.service", user = "root" }
    allow = ["token.get work"]
    hours = ["Mon 08:00-12:00"]

    """

  private func offline(
    _ line: String, _ text: String = rules, json: Bool = false
  ) async throws -> Outcome {
    let file = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: file) }
    try Data(text.utf8).write(to: URL(filePath: file))
    let outcome = await usherctl("policy \(line) --config \(file)\(json ? " --json" : "")")
    return Outcome(
      status: outcome.status, output: outcome.output.replacing(file, with: "FILE"),
      error: outcome.error.replacing(file, with: "FILE"))
  }

  @Test(
    "usherctl policy check --config evaluates the rules of files with the users of this machine")
  func files() async throws {
    let when = try await offline("check --client till --at 09:00 token.get work")
    #expect(when.error == "usherctl: at must be a day and a time, such as \"Mon 08:30\"\n")
    let root = try await offline("check --user root --unit other.service token.get work")
    #expect(
      root.output == """
        allowed: no rule matches the caller, and root may do everything
          client                     (user)
          accounts are               the user's
          if its process is unknown  denied: rule till may match

        """)
    #expect(root.status == 0)
    let list = try await offline("check --client till token.list")
    #expect(
      list.output.hasPrefix(
        """
        denied: rule till matches the caller but does not list the call
          error reason               permission_denied
          client                     till
          accounts are               the user's
          if its process is unknown  denied: rule till may match

        RULE  WHERE
        """))
    #expect(list.output.hasSuffix("\ntill  FILE:7  does not list the call\n"))
    #expect(list.status == 1)
  }

  @Test("usherctl policy check --config without --at uses the current time")
  func now() async throws {
    // The fake clock has a fixed time of the week, at which exactly one of these two rules applies.
    let always = Self.rules.replacing(
      "[\"Mon 08:00-12:00\"]", with: "[\"Mon-Sun 00:00-12:00\", \"Mon-Sun 12:00-24:00\"]")
    #expect(try await offline("check --client till token.get work", always).status == 0)
    let morning = Self.rules.replacing("Mon 08:00-12:00", with: "Mon-Sun 00:00-12:00")
    let evening = Self.rules.replacing("Mon 08:00-12:00", with: "Mon-Sun 12:00-24:00")
    let statuses = [
      try await offline("check --client till token.get work", morning).status,
      try await offline("check --client till token.get work", evening).status,
    ]
    #expect(statuses.sorted() == [0, 1])
  }

  @Test("usherctl policy check and show --config print one line of JSON with --json")
  func json() async throws {
    let check = try await offline("check --client till token.list", json: true)
    #expect(check.output.hasPrefix(#"{"allowed":false,"client":"till","#))
    #expect(check.output.filter { $0 == "\n" }.count == 1)
    #expect(check.status == 1)
    let list = try await offline("show", json: true)
    #expect(list.output.contains(#""settings":{"allow":["token.get work"],"#))
    #expect(list.output.filter { $0 == "\n" }.count == 1)
  }

  @Test("usherctl policy show --config prints the rules of files")
  func showFiles() async throws {
    let outcome = try await offline("show")
    #expect(
      outcome.output.hasPrefix(
        """
        rule till (FILE:7)
          match  unit till.service, user root
          allow  token.get work
          hours  Mon 08:00-12:00

        Callers that no rule matches: 
        """))
  }

  @Test("usherctl policy check reports errors in files and names, and decides nothing")
  func troubles() async throws {
    let unknown = Self.rules.replacing("user = \"root\"", with: "user = \"no-such-user\"")
    let user = try await offline("check --client till token.get work", unknown)
    #expect(
      user.error == """
        usherctl: FILE:9:41: client[0].match.user: user "no-such-user" does not exist on this \
        machine

        """)
    #expect(user.status == 1 && user.output == "")
    let client = try await offline("check --client til token.get work")
    #expect(
      client.error
        == "usherctl: client is not a client of the configuration; did you mean till?\n")
    let file = await usherctl("policy show --config /tmp/usher-no-such-file")
    #expect(file.error == "usherctl: /tmp/usher-no-such-file cannot be read\n")
    let method = await usherctl("policy check")
    #expect(method.status == 64)
  }

  private static func oneLine(_ json: String) -> String {
    json.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
  }
}
