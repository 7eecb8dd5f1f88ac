import JSONRPC
import Testing
import UsherCommands
import UsherCore
import UsherTestKit

@Suite("The commands of usherctl", .timeLimit(.minutes(10)))
struct VerbTests {
  @Test("usherctl status prints the daemon's state and its providers")
  func status() async throws {
    let reply = #"""
      {"version":"0.1.0","uptimeSeconds":7500,"ready":true,"providers":[{"name":"work",\#
      "type":"oidc","health":"ok"},{"name":"shop","type":"oidc","health":"failing"}],"flows":2,\#
      "connections":5}
      """#
    let outcome = try await usherctl("status", asking: [.ask("system.status", reply)])
    #expect(
      outcome.output == """
        usherd 0.1.0, ready, up 2 h 5 min
        flows        2
        connections  5

        PROVIDER  TYPE  HEALTH
        work      oidc  ok
        shop      oidc  failing

        """)
    #expect(outcome.status == 0)
    #expect(outcome.error == "")
  }

  @Test(
    "usherctl --json prints the reply unchanged, before or after the name of the command",
    arguments: [
      ("--json provider list", "provider.list", [:]),
      ("provider list --json", "provider.list", [:]),
      ("provider --json list", "provider.list", [:]),
      ("consent list --json", "consent.list", [:]),
      ("totp code bsa --json", "totp.code", ["provider": "bsa"]),
      (
        "registration check-duplicate --provider bsa --email a@b.example --json",
        "registration.checkDuplicate",
        ["provider": "bsa", "verifyType": "email", "verifyData": "a@b.example"]
      ),
      (
        "registration check-user-key --provider bsa ada.1815 --json",
        "registration.checkUserKey", ["provider": "bsa", "userKey": "ada.1815"]
      ),
    ] as [(String, String, JSONValue)])
  func json(line: String, method: String, params: JSONValue) async throws {
    let known =
      #""providers":[],"consents":[],"duplicate":true,"available":true,"code":"081804","#
      + #""periodSeconds":60,"expiresAt":"2030-01-01T00:00:42Z""#
    let reply = #"{\#(known),"ofLaterVersions":[1.50,"x"]}"#
    let outcome = try await usherctl(line, asking: [.ask(method, params, reply)])
    #expect(outcome.output == reply + "\n")
    #expect(outcome.error == "")
  }

  @Test(
    "usherctl exits with 64 unless a command for one account names either a provider or an account",
    arguments: [
      "token get", "token get work --account acc_1", "totp code", "totp code bsa --account acc_1",
      "consent revoke --client till",
    ])
  func which(line: String) async {
    let outcome = await usherctl(line)
    #expect(outcome.status == 64)
    #expect(outcome.error.contains("Name a provider, or an account with --account."))
  }

  @Test("usherctl's option --socket overrides USHER_SOCKET")
  func socketOption() async throws {
    let outcome = await usherctl("--socket /tmp/usher-no-other status")
    #expect(outcome.error.contains("/tmp/usher-no-other"))
  }

  @Test("usherctl provider show lists each flow's parameters")
  func providerShow() async throws {
    let reply = #"""
      {"name":"work","type":"oidc","flows":[{"kind":"authorize","summary":"Sign in.",\#
      "params":{"type":"object","required":["b","f"],"properties":{"a":{"type":"string"},\#
      "b":{"type":"integer"},"c":{"type":"object","required":["d"],\#
      "properties":{"d":{"type":"string"},"x":{"type":"object","required":["y"],\#
      "properties":{"y":{"type":"number"}}}}},"e":true,"f":{"type":"object","required":["g"],\#
      "properties":{"g":{"type":"string"}}}}}}]}
      """#
    let outcome = try await usherctl(
      "provider show work", asking: [.ask("provider.get", ["provider": "work"], reply)])
    #expect(
      outcome.output == """
        provider  work
        type      oidc

        authorize: Sign in.
          PARAM  TYPE     REQUIRED
          a      string   no
          b      integer  yes
          c      object   no
          c.d    string   in c
          c.x    object   no
          c.x.y  number   in c.x
          e      any      no
          f      object   yes
          f.g    string   yes

        """)
  }

  @Test("usherctl provider check asks on the admin socket and exits with 1 if a check fails")
  func providerCheck() async throws {
    let reply = #"""
      {"provider":"work","healthy":false,"findings":[{"subject":"discovery","fine":true,\#
      "message":"found"},{"subject":"clock","fine":false,"message":"90 s ahead\u001b[2J"}]}
      """#
    let outcome = try await usherctl(
      "provider check work", asking: [.ask("provider.check", ["provider": "work"], reply)],
      sockets: ["USHER_ADMIN_SOCKET"])
    #expect(
      outcome.output == """
        CHECK      RESULT  MESSAGE
        discovery  ok      found
        clock      FAILED  90 s ahead\u{FFFD}[2J

        """)
    #expect(outcome.status == 1)
    #expect(outcome.error == "")
  }

  @Test("usherctl token get prints the bare token and a newline")
  func tokenGet() async throws {
    let outcome = try await usherctl(
      "token get work --scope a --audience b --min-valid 5 --force-refresh",
      asking: [
        .ask(
          "token.get",
          [
            "provider": "work", "scope": "a", "audience": "b", "minValidSeconds": 5,
            "forceRefresh": true,
          ], Reply.token("at-1"))
      ])
    #expect(outcome.output == "at-1\n")
    #expect(outcome.error == "")
    #expect(outcome.status == 0)
  }

  @Test("usherctl token get does not print a token with invalid characters")
  func tokenWithControls() async throws {
    let outcome = try await usherctl(
      "token get work", asking: [.ask("token.get", ["provider": "work"], Reply.token(#"a\u001b"#))])
    #expect(outcome.output == "")
    #expect(
      outcome.error == "usherctl: the provider's token has characters that a token cannot have\n")
    #expect(outcome.status == 1)
  }

  @Test("usherctl token list prints no token values")
  func tokenList() async throws {
    let reply = #"""
      {"tokens":[{"account":"acc_1","provider":"work","token":{"scope":"openid mail",\#
      "expiresAt":"2030-01-01T00:00:00Z","status":"valid"}},{"account":"acc_1",\#
      "provider":"work","token":{"field":"idToken","scope":"",\#
      "expiresAt":"2030-01-01T00:00:00Z","status":"valid"}}]}
      """#
    let outcome = try await usherctl(
      "token list --provider work", asking: [.ask("token.list", ["provider": "work"], reply)])
    #expect(
      outcome.output == """
        ACCOUNT  PROVIDER  TOKEN   STATUS  EXPIRES               AUDIENCE  SCOPE
        acc_1    work      access  valid   2030-01-01T00:00:00Z  -         openid mail
        acc_1    work      id      valid   2030-01-01T00:00:00Z  -         -

        """)
  }

  @Test("usherctl token revoke and account forget print what the provider did")
  func revoke() async throws {
    let revoked = try await usherctl(
      "token revoke work",
      asking: [
        .ask("token.revoke", ["provider": "work"], #"{"account":"acc_1","revoked":"failed"}"#)
      ])
    #expect(revoked.output == "deleted the tokens of acc_1\n")
    #expect(revoked.error == "warning: tokens not revoked at the provider\n")
    let forgotten = try await usherctl(
      "account forget --account acc_1 --no-revoke",
      asking: [
        .ask(
          "account.forget", ["account": "acc_1", "revoke": false],
          #"{"account":"acc_1","revoked":"skipped"}"#)
      ])
    #expect(forgotten.output == "forgot acc_1\n")
    #expect(forgotten.status == 0)
  }

  @Test("usherctl account forget lists the tokens that stay valid, with the reason and the remedy")
  func living() async throws {
    let refresh = #"{"token":"refresh_token","scope":"openid mail","why":"unreachable"}"#
    let access = """
      {"token":"access_token","scope":"openid","expiresAt":"2030-01-01T00:00:00Z","why":"refused"}
      """
    let outcome = try await usherctl(
      "account forget --account acc_1",
      asking: [
        .ask(
          "account.forget", ["account": "acc_1"],
          """
          {"account":"acc_1","revoked":"failed","living":[\(refresh),\(access)],\
          "retriedUntil":"2030-01-02T00:00:00Z"}
          """)
      ])
    #expect(outcome.output == "forgot acc_1\n")
    #expect(
      outcome.error == """
        warning: the refresh token for "openid mail" is still valid: the provider cannot be \
        reached or has postponed the revocation
        warning: the access token for "openid" is still valid until 2030-01-01T00:00:00Z: the \
        provider refused to revoke it
        usherd retries until 2030-01-02T00:00:00Z; for the result, see: usherctl audit
        to revoke them now, remove this application in your account settings at the provider

        """)
    #expect(outcome.status == 0)
  }

  @Test("usherctl account list and account show print the stored accounts")
  func accounts() async throws {
    let list = try await usherctl(
      "account list", asking: [.ask("account.list", #"{"accounts":[\#(Reply.account)]}"#)])
    #expect(
      list.output == """
        ACCOUNT  PROVIDER  LABEL  CREATED               TOKENS
        acc_1    work      Ann    2030-01-01T00:00:00Z  valid

        """)
    let show = try await usherctl(
      "account show acc_1",
      asking: [.ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#)])
    #expect(
      show.output == """
        account     acc_1
        provider    work
        label       Ann
        subject     s-1
        owner       1000
        created     2030-01-01T00:00:00Z
        kept alive  no
        level  2
        email  a@b.example
        token: valid, scope openid

        """)
    // Members that are null are not printed, also if an object has no others.
    let nulls = Reply.account.replacing(
      #""email":"a@b.example""#,
      with: #""email":"a@b.example","address":{"formatted":null},"name":null"#)
    let same = try await usherctl(
      "account show acc_1",
      asking: [.ask("account.get", ["account": "acc_1"], #"{"account":\#(nulls)}"#)])
    #expect(nulls != Reply.account && same.output == show.output)
    let none = try await usherctl(
      "account list --provider work",
      asking: [.ask("account.list", ["provider": "work"], #"{"accounts":[]}"#)])
    #expect(none.output == "")
    #expect(none.error == "no accounts\n")
  }

  @Test("usherctl rpc prints the result of any call")
  func rpc() async throws {
    let outcome = try await usherctl(
      #"rpc thing.do {"a":1}"#, asking: [.ask("thing.do", ["a": 1], #"{"b":"\u009b"}"#)])
    #expect(outcome.output == #"{"b":"\u009b"}"# + "\n")
    let terminal = ScriptedTerminal([#"{"a":2}"#])
    let fromInput = try await usherctl(
      "rpc thing.do - --admin", terminal: terminal, asking: [.ask("thing.do", ["a": 2], "{}")],
      sockets: ["USHER_ADMIN_SOCKET"])
    #expect(fromInput.output == "{}\n")
    let wrong = await usherctl("rpc thing.do {")
    #expect(wrong.status == 64)
  }

  @Test("usherctl watch prints events until the connection ends")
  func watch() async throws {
    let event = #"""
      {"subscription":"s","cursor":2,"event":{"topic":"flow","what":"moved",\#
      "at":"2030-01-01T00:00:00Z","provider":"work","flow":"flw_1","kind":"authorize",\#
      "status":"active","state":"opened","revision":2,"step":"openURL"}}
      """#
    for (line, expected) in [
      (
        "watch --topic flow",
        "2030-01-01T00:00:00Z flow moved flw_1 work/authorize active opened openURL\n"
      ),
      ("watch --topic flow --json", event + "\n"),
    ] {
      let outcome = try await FakeDaemon.run { peer in
        let call = try await peer.next()
        #expect(call.params == ["topics": ["flow"]])
        try await peer.reply(call, #"{"subscription":"s","cursor":1}"#)
        try await peer.notify("events.notify", event)
      } _: { daemon in
        await usherctl(line, environment: ["USHER_SOCKET": daemon.path])
      }
      if !line.contains("--json") { #expect(outcome.output == expected) }
      #expect(outcome.output.contains("flw_1"))
      #expect(outcome.error == "usherctl: usherd closed the connection\n")
      #expect(outcome.status == 69)
    }
  }

  @Test("usherctl watch continues after events were lost")
  func watchLost() async throws {
    let outcome = try await FakeDaemon.run { peer in
      let first = try await peer.next()
      try await peer.reply(first, #"{"subscription":"s","cursor":1}"#)
      try await peer.notify("events.lost", #"{"subscription":"s","cursor":7}"#)
      let second = try await peer.next()
      #expect(second.params["since"] == 7)
      try await peer.fail(second, Reply.error(-32001, "permission_denied", "you may not"))
    } _: { daemon in
      await usherctl("watch", environment: ["USHER_SOCKET": daemon.path])
    }
    #expect(outcome.error.hasPrefix("usherctl: events came faster than they were read"))
  }
}

enum Reply {
  static func token(_ value: String) -> String {
    #"""
    {"accessToken":"\#(value)","tokenType":"Bearer","expiresAt":null,"scope":"openid",\#
    "account":"acc_1"}
    """#
  }

  static let account = #"""
    {"id":"acc_1","provider":"work","subject":"s-1","label":"Ann","owner":1000,"client":null,\#
    "createdAt":"2030-01-01T00:00:00Z","keepAlive":false,"attributes":{"level":2},\#
    "profile":{"email":"a@b.example"},"tokens":[{"scope":"openid","expiresAt":null,\#
    "status":"valid"}]}
    """#

  static func flow(
    _ revision: Int, step: String = "null", problem: String = "null", status: String = "active",
    result: String = "null", failure: String = "null"
  ) -> String {
    #"""
    {"flow":{"id":"flw_1","provider":"work","kind":"authorize","status":"\#(status)",\#
    "state":"s","revision":\#(revision),"step":\#(step),"problem":\#(problem),\#
    "result":\#(result),"failure":\#(failure),"createdAt":"2030-01-01T00:00:00Z",\#
    "updatedAt":"2030-01-01T00:00:00Z","expiresAt":"2030-01-01T00:10:00Z"},"transitions":[]}
    """#
  }

  static func error(_ code: Int, _ reason: String, _ message: String, more: String = "") -> String {
    let retryable = UsherError.Reason(rawValue: reason)?.isRetryable ?? false
    return #"""
      {"code":\#(code),"message":"\#(message)","data":{"reason":"\#(reason)","retryable":\#(retryable),\#
      "correlationId":"cor_1"\#(more)}}
      """#
  }
}
