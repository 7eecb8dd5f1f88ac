import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl confirm", .timeLimit(.minutes(10)))
struct ConfirmTests {
  private static func question(_ id: String, until: String = "00:04:30") -> String {
    #"""
    {"id":"\#(id)","asker":{"client":"kiosk","uid":1000,"user":"anna","unit":"kiosk.service",\#
    "executable":"/usr/bin/kiosk\u001b[2J"},"about":{"method":"token.get","provider":"work",\#
    "account":"acc_1","label":"Ada","scope":"openid"},"askedAt":"2030-01-01T00:00:00Z",\#
    "expiresAt":"2030-01-01T\#(until)Z"}
    """#
  }

  private static func answer(_ remember: String, _ until: String, allow: Bool = true) -> String {
    #"""
    {"id":"cnf_9","asker":{"client":"till","uid":1001},"about":{"method":"flow.start",\#
    "provider":"wallet","kind":"operation","operation":"GET:/wallets"},"allow":\#(allow),\#
    "remember":\#(remember),"answeredAt":"2030-01-01T00:00:00Z",\#
    "answeredBy":{"client":"(admin)","uid":0},"expiresAt":\#(until)}
    """#
  }

  private static func list(_ questions: [String], _ answers: [String] = []) -> String {
    let (questions, answers) = (questions.joined(separator: ","), answers.joined(separator: ","))
    return #"{"questions":[\#(questions)],"answers":[\#(answers)]}"#
  }

  private static let shown = """
    kiosk wants to call token.get work
    question  cnf_1
    user      anna (1000)
    unit      kiosk.service
    program   /usr/bin/kiosk\u{FFFD}[2J
    account   Ada (acc_1)
    scope     openid
    open for  4 min 30 s

    """
  private static let prompt =
    "o once, s for the session, a number of days, n to refuse, Enter to leave it open: "

  @Test("usherctl confirm list prints questions and answers without control characters")
  func list() async throws {
    let reply = Self.list(
      [Self.question("cnf_1")],
      [
        Self.answer("60", #""2030-01-01T00:01:00Z""#), Self.answer("\"session\"", "null"),
        Self.answer(#""once""#, #""2030-01-01T00:01:00Z""#, allow: false),
      ])
    for line in ["confirm list", "confirm", "confirm ask"] {
      let outcome = try await usherctl(line, asking: [.ask("confirm.list", reply)])
      #expect(
        outcome.output == """
          QUESTION  CLIENT  USER         CALL            ACCOUNT      SCOPE   AUDIENCE  OPEN FOR
          cnf_1     kiosk   anna (1000)  token.get work  Ada (acc_1)  openid  -         4 min 30 s

          ANSWER  CLIENT  USER      CALL                                      ACCOUNT  SCOPE  AUDIENCE  SAID     UNTIL
          cnf_9   till    uid 1001  flow.start wallet/operation GET:/wallets  -        -      -         allowed  2030-01-01T00:01:00Z
          cnf_9   till    uid 1001  flow.start wallet/operation GET:/wallets  -        -      -         allowed  usherd ends or is locked
          cnf_9   till    uid 1001  flow.start wallet/operation GET:/wallets  -        -      -         refused  2030-01-01T00:01:00Z

          """)
      #expect(outcome.status == 0)
    }
    let json = try await usherctl("confirm list --json", asking: [.ask("confirm.list", reply)])
    #expect(json.output == reply + "\n")
  }

  @Test("usherctl confirm without open questions says that there are none")
  func none() async throws {
    for interactive in [false, true] {
      let outcome = try await usherctl(
        "confirm", terminal: ScriptedTerminal(interactive: interactive),
        asking: [.ask("confirm.list", Self.list([]))])
      #expect(outcome.output == "")
      #expect(outcome.error == "no questions\n")
    }
  }

  @Test(
    "usherctl confirm on a terminal accepts a letter or a number of days as the answer",
    arguments: [
      ("o", ["allow": true, "remember": "once"], "allowed once"),
      (
        "S", ["allow": true, "remember": "session"], "allowed until usherd ends or is locked"
      ),
      ("30", ["allow": true, "remember": 2_592_000], "allowed for 30 d"),
      ("n", ["allow": false, "remember": "once"], "refused for a minute"),
    ] as [(String, JSONValue, String)])
  func ask(typed: String, params: JSONValue, said: String) async throws {
    var params = params
    params["confirmation"] = "cnf_1"
    let outcome = try await usherctl(
      "confirm", terminal: ScriptedTerminal([typed], interactive: true),
      asking: [
        .ask("confirm.list", Self.list([Self.question("cnf_1")])),
        .ask("confirm.answer", params, "{}"),
      ])
    #expect(outcome.output == Self.shown)
    #expect(outcome.error == "\(Self.prompt)\(said)\n")
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl confirm asks each question in turn, skips it on Enter and repeats it on invalid input"
  )
  func several() async throws {
    let reply = Self.list([Self.question("cnf_1"), Self.question("cnf_2")])
    let outcome = try await usherctl(
      "confirm", terminal: ScriptedTerminal(["", "31", "yes", "n"], interactive: true),
      asking: [
        .ask("confirm.list", reply),
        .ask(
          "confirm.answer", ["confirmation": "cnf_2", "allow": false, "remember": "once"], "{}"),
      ])
    let again = "enter one of these letters, or a number from 1 to 30\n"
    #expect(
      outcome.error
        == "\(Self.prompt)\(Self.prompt)\(again)\(Self.prompt)\(again)\(Self.prompt)"
        + "refused for a minute\n")
  }

  @Test("usherctl confirm continues if a question was answered meanwhile")
  func meanwhile() async throws {
    let reply = Self.list([Self.question("cnf_1"), Self.question("cnf_2")])
    let outcome = try await usherctl(
      "confirm", terminal: ScriptedTerminal(["o", "o"], interactive: true),
      asking: [
        .ask("confirm.list", reply),
        .refuse(
          "confirm.answer", ["confirmation": "cnf_1", "allow": true, "remember": "once"],
          Reply.error(1002, "conflict", "question cnf_1 was already answered")),
        .ask("confirm.answer", ["confirmation": "cnf_2", "allow": true, "remember": "once"], "{}"),
      ])
    #expect(outcome.error.contains("question cnf_1 was already answered"))
    #expect(outcome.error.hasSuffix("allowed once\n"))
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl confirm allow and deny send how long the answer holds, by default once",
    arguments: [
      ("allow cnf_1", true, nil, "allowed once"),
      ("allow cnf_1 --once", true, "once", "allowed once"),
      ("allow --session cnf_1", true, "session", "allowed until usherd ends or is locked"),
      ("allow cnf_1 --for 7d", true, 604_800, "allowed for 7 d"),
      ("allow cnf_1 --for 30d", true, 2_592_000, "allowed for 30 d"),
      ("deny cnf_1", false, nil, "refused for a minute"),
      ("deny cnf_1 --for 90s", false, 90, "refused for 1 min 30 s"),
    ] as [(String, Bool, JSONValue?, String)])
  func verbs(line: String, allow: Bool, remember: JSONValue?, said: String) async throws {
    var params: JSONValue = ["confirmation": "cnf_1", "allow": .bool(allow)]
    params["remember"] = remember
    for (option, socket) in [("", "USHER_SOCKET"), (" --admin", "USHER_ADMIN_SOCKET")] {
      let outcome = try await usherctl(
        "confirm \(line)\(option)", asking: [.ask("confirm.answer", params, "{}")],
        sockets: [socket])
      #expect(outcome.error == "\(said)\n")
      #expect(outcome.status == 0)
    }
  }

  @Test(
    "usherctl confirm allow exits with 64 for an invalid or ambiguous duration",
    arguments: [
      "--for 31d", "--for 0s", "--for 7", "--for now", "--once --session", "--once --for 1h",
    ])
  func wrong(options: String) async {
    let outcome = await usherctl("confirm allow cnf_1 \(options)")
    #expect(outcome.status == 64)
  }

  @Test("usherctl confirm forget withdraws an answer")
  func forget() async throws {
    let outcome = try await usherctl(
      "confirm forget cnf_9", asking: [.ask("confirm.forget", ["answer": "cnf_9"], "{}")])
    #expect(outcome.error == "answer cnf_9 withdrawn\n")
    #expect(outcome.status == 0)
  }

  @Test("usherctl confirm allow runs local authentication if required, and then sends the answer")
  func proof() async throws {
    let next = #"""
      ,"next":{"method":"flow.start","params":{"provider":"local","kind":"authenticate",\#
      "params":{"localAuthType":"biometric","usePasscodeWhenFailed":true}}}
      """#
    let answer: JSONValue = ["confirmation": "cnf_1", "allow": true]
    let step = #"{"type":"localAuth","methods":["passcode"],"reason":"r","scanning":false}"#
    let done = Reply.flow(2, status: "succeeded", result: #"{"method":"passcode"}"#)
    let outcome = try await usherctl(
      "confirm allow cnf_1",
      terminal: ScriptedTerminal(["till-4711"], interactive: true, silence: true),
      asking: [
        .refuse(
          "confirm.answer", answer,
          Reply.error(1101, "interaction_required", "you must be there", more: next)),
        .ask(
          "flow.start",
          [
            "provider": "local", "kind": "authenticate",
            "params": ["localAuthType": "biometric", "usePasscodeWhenFailed": true],
          ], Reply.flow(1, step: step)),
        .submit(1, ["type": "localAuth", "passcode": "till-4711"], done),
        .ask("confirm.answer", answer, "{}"),
      ])
    #expect(outcome.error.hasPrefix("you must be there\nr\n"))
    #expect(outcome.error.hasSuffix("allowed once\n"))
    #expect(outcome.status == 0)
  }

  @Test("usherctl exits with 75 if a call needs a confirmation, and prints how to allow it")
  func waiting() async throws {
    let outcome = try await usherctl(
      "token get work",
      asking: [
        .refuse(
          "token.get", ["provider": "work"],
          #"""
          {"code":1101,"message":"a person must approve this call first",\#
          "data":{"reason":"interaction_required","retryable":true,"confirmation":"cnf_1",\#
          "correlationId":"cor_1"}}
          """#)
      ])
    #expect(
      outcome.error == """
        usherctl: a person must approve this call first
        to allow it, run: usherctl confirm allow cnf_1

        """)
    #expect(outcome.status == 75)
  }
}
