import JSONRPC
import Testing
import UsherCommands

@Suite("Flows in the terminal", .timeLimit(.minutes(1)))
struct FlowTests {
  /// Runs a flow that stands at `step`, answers it as typed, and then succeeds.
  private func answering(
    _ step: String, typed: [String], with input: JSONValue, interactive: Bool = true
  ) async throws -> (Outcome, ScriptedTerminal) {
    let terminal = ScriptedTerminal(typed, interactive: interactive, silence: true)
    let done = Reply.flow(2, status: "succeeded", result: #"{"n":1}"#)
    let outcome = try await usherctl(
      "flow run work authorize --request-id r", terminal: terminal,
      asking: [
        .ask("flow.start", Self.start, Reply.flow(1, step: step)),
        .ask("flow.submit", ["flow": "flw_1", "revision": 1, "input": input], done),
        .ask("flow.get", ["flow": "flw_1"], done),
      ])
    #expect(outcome.status == 0)
    #expect(outcome.output == "flow flw_1: succeeded\nn  1\n")
    return (outcome, terminal)
  }

  private static let start: JSONValue = [
    "provider": "work", "kind": "authorize", "params": [:], "requestId": "r",
  ]

  private static let openURL = #"""
    {"type":"openURL","url":"https://id.example/a","redirectURI":"http://127.0.0.1:1/c",\#
    "completes":"loopback"}
    """#

  private static let wait = #"{"type":"wait","for":"the provider"}"#

  private static let code = #"""
    {"type":"enterCode","purpose":"otp","channel":"sms","maskedTarget":"+49…12","digits":6,\#
    "expiresAt":"2030-01-01T00:04:59Z","resendAt":"2030-01-01T00:00:12Z","attemptsLeft":3,\#
    "alsoAsk":[{"name":"birthday","type":"date","required":false}],\#
    "operation":{"summary":"Pay","amount":"5.00 EUR","payee":"Shop"}}
    """#

  @Test("a page is shown, opened, and waited for; a pasted address is submitted")
  func pasted() async throws {
    let input: JSONValue = ["type": "openURL", "redirectURL": "http://127.0.0.1:1/c?code=1"]
    let (outcome, terminal) = try await answering(
      Self.openURL, typed: ["", " http://127.0.0.1:1/c?code=1 "], with: input)
    #expect(terminal.opened == ["https://id.example/a"])
    #expect(outcome.error.hasPrefix("open this page to sign in at work:\n  https://id.example/a\n"))
  }

  @Test("a code is asked for with what is left of it")
  func code() async throws {
    let (outcome, _) = try await answering(
      Self.code, typed: ["123456", ""], with: ["type": "enterCode", "code": "123456"])
    #expect(
      outcome.error == """
        Pay: 5.00 EUR to Shop
        a code was sent by sms to +49…12
        code (6 digits, 4 min 59 s left, 3 attempts left, r for a new one in 12 s): \
        birthday (YYYY-MM-DD, optional): 
        """)
  }

  @Test("r asks for a new code, < goes back")
  func resend() async throws {
    _ = try await answering(Self.code, typed: ["r"], with: ["type": "enterCode", "resend": true])
    _ = try await answering(Self.code, typed: ["<"], with: ["type": "enterCode", "back": true])
  }

  @Test("a password is not shown; another way can be chosen")
  func password() async throws {
    let plain = #"{"type":"enterPassword","purpose":"login"}"#
    let (_, terminal) = try await answering(
      plain, typed: ["", "pass word "], with: ["type": "enterPassword", "password": "pass word "])
    #expect(terminal.hiddenLines == ["", "pass word "])
    let others =
      #"{"type":"enterPassword","purpose":"login","alternatives":[{"id":"otp","label":"by SMS"}]}"#
    _ = try await answering(
      others, typed: ["2"], with: ["type": "enterPassword", "alternative": "otp"])
    _ = try await answering(
      others, typed: ["1", "p"], with: ["type": "enterPassword", "password": "p"])
  }

  @Test("one of several is chosen by its number")
  func choose() async throws {
    let step = #"""
      {"type":"choose","what":"account","options":[{"id":"x","label":"First"},\#
      {"id":"y","label":"Second\u001b[2J"}]}
      """#
    let (outcome, _) = try await answering(
      step, typed: ["0", "three", "2"], with: ["type": "choose", "id": "y"])
    #expect(
      outcome.error == """
        choose an account:
          1  First
          2  Second\u{FFFD}[2J
        number: a number from 1 to 2, please
        number: a number from 1 to 2, please
        number: 
        """)
  }

  @Test("a form's fields are asked for one by one, as they may be filled")
  func form() async throws {
    let step = #"""
      {"type":"fillForm","fields":[{"name":"name","type":"text","required":true,"maxLength":3},\#
      {"name":"pin","type":"password","required":true},\#
      {"name":"mail","type":"email","required":false}]}
      """#
    let (outcome, terminal) = try await answering(
      step, typed: ["", "toolong", "Ann", "1234", ""],
      with: ["type": "fillForm", "fields": ["name": "Ann", "pin": "1234"]])
    #expect(terminal.hiddenLines == ["1234"])
    #expect(
      outcome.error == """
        please fill in:
        name: name is needed
        name: at most 3 characters, please
        name: pin (not shown): mail (an e-mail address, optional): 
        """)
  }

  @Test(
    "consent is given by letters",
    arguments: [
      ("a c", ["granted": ["n", "p"]]), ("ac", ["granted": ["n", "p"]]),
      ("all", ["granted": ["n", "m", "p"]]), ("none", ["denied": true]),
    ] as [(String, JSONValue)])
  func consent(typed: String, input: JSONValue) async throws {
    let step = #"""
      {"type":"consent","client":"Till","grants":[{"id":"n","label":"name","remembered":true},\#
      {"id":"m","label":"mail","remembered":false},{"id":"p","label":"phone","remembered":false}]}
      """#
    var input = input
    input["type"] = "consent"
    let (outcome, _) = try await answering(step, typed: ["", "z", typed], with: input)
    #expect(outcome.error.hasPrefix("Till asks for:\n  a  name (granted before)\n  b  mail\n"))
  }

  @Test(
    "a credential is handed over, and the backend's answer taken unseen",
    arguments: [
      (#"{"accessToken":"t"}"#, ["success": ["accessToken": "t"]]),
      ("failed declined", ["failure": ["reason": "declined"]]),
    ] as [(String, JSONValue)])
  func exchange(typed: String, input: JSONValue) async throws {
    let step = #"""
      {"type":"exchangeCredential","credential":{"type":"authCode","code":"c-1"},\#
      "codeVerifier":"v-1","requestId":"q","deadline":"2030-01-01T00:01:00Z"}
      """#
    var input = input
    input["type"] = "exchangeCredential"
    let (outcome, terminal) = try await answering(
      step, typed: ["what?", #"{"n":1}"#, typed], with: input)
    #expect(terminal.hiddenLines.last == typed)
    #expect(outcome.error.contains("  code          c-1\n  code verifier v-1\n"))
  }

  @Test(
    "local authentication offers what there is",
    arguments: [
      (["1"], ["biometric": true]), (["2", "0000"], ["passcode": "0000"]),
      (["3"], ["fallback": true]), (["4"], ["cancel": true]),
    ] as [([String], JSONValue)])
  func localAuth(typed: [String], input: JSONValue) async throws {
    let step = #"""
      {"type":"localAuth","methods":["biometric","passcode"],"reason":"to sign up",\#
      "scanning":false}
      """#
    var input = input
    input["type"] = "localAuth"
    let (outcome, _) = try await answering(step, typed: typed, with: input)
    #expect(outcome.error.hasPrefix("to sign up\n  1  fingerprint\n  2  passcode\n"))
  }

  @Test("the daemon may notice first: what is being asked is then no longer asked")
  func moved() async throws {
    let terminal = ScriptedTerminal(interactive: true, silence: true)
    let done = Reply.flow(3, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --no-browser --scope openid", terminal: terminal,
      asking: [
        .start(["scope": "openid"], Reply.flow(1, step: Self.openURL)),
        .wait(after: 1, Reply.flow(2, step: Self.wait)),
        .wait(after: 2, done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(terminal.opened.isEmpty)
    #expect(outcome.output == "signed in as Ann (acc_1)\n")
    #expect(outcome.error.hasSuffix("waiting: the provider\n"))
    #expect(outcome.status == 0)
  }

  @Test("without a person, a page is only waited for")
  func noPerson() async throws {
    let done = Reply.flow(2, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --json",
      asking: [
        .start([:], Reply.flow(1, step: Self.openURL)), .wait(after: 1, done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(outcome.output == #"{"account":\#(Reply.account)}"# + "\n")
  }

  @Test("a code for another device is shown")
  func device() async throws {
    let step = #"""
      {"type":"displayCode","userCode":"WDJB-MJHT","verificationURI":"https://id.example/d",\#
      "expiresAt":"2030-01-01T00:05:00Z"}
      """#
    let done = Reply.flow(2, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --kind device --param x=y=z",
      asking: [
        .start(kind: "device", ["x": "y=z"], Reply.flow(1, step: step)), .wait(after: 1, done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(
      outcome.error == """
        enter the code WDJB-MJHT at
          https://id.example/d
        the code is valid until 2030-01-01T00:05:00Z

        """)
  }

  @Test("a wrong code is said and asked for again")
  func problem() async throws {
    let problem = #"{"reason":"wrong_code","title":"Wrong code","message":"2 attempts left"}"#
    let terminal = ScriptedTerminal(["1", "", "2", ""], interactive: true, silence: true)
    let done = Reply.flow(3, status: "succeeded")
    let outcome = try await usherctl(
      "flow run work authorize --request-id r", terminal: terminal,
      asking: [
        .ask("flow.start", Self.start, Reply.flow(1, step: Self.code)),
        .submit(
          1, ["type": "enterCode", "code": "1"], Reply.flow(2, step: Self.code, problem: problem)),
        .submit(2, ["type": "enterCode", "code": "2"], done),
        .ask("flow.get", ["flow": "flw_1"], done),
      ])
    #expect(outcome.error.contains("Wrong code: 2 attempts left\ncode ("))
    #expect(outcome.status == 0)
  }

  @Test("an answer that came too late is not given to another step")
  func conflict() async throws {
    let terminal = ScriptedTerminal(["1", "", "2", ""], interactive: true, silence: true)
    let done = Reply.flow(6, status: "succeeded")
    let outcome = try await usherctl(
      "flow run work authorize --request-id r", terminal: terminal,
      asking: [
        .ask("flow.start", Self.start, Reply.flow(1, step: Self.code)),
        Exchange(
          method: "flow.submit",
          params: [
            "flow": "flw_1", "revision": 1, "input": ["type": "enterCode", "code": "1"],
          ], answer: .error(Reply.error(1002, "conflict", "stale"))),
        .ask("flow.get", ["flow": "flw_1"], Reply.flow(5, step: Self.code)),
        .submit(5, ["type": "enterCode", "code": "2"], done),
        .ask("flow.get", ["flow": "flw_1"], done),
      ])
    #expect(outcome.error.contains("the flow has moved on meanwhile\n"))
    #expect(outcome.status == 0)
  }

  @Test("a flow that failed: 3, and why")
  func failed() async throws {
    let failure = #"""
      {"reason":"denied","title":"Denied","message":"you said no","retryable":false,\#
      "provider":{"name":"work","code":"access_denied"}}
      """#
    let outcome = try await usherctl(
      "login work",
      asking: [
        .start([:], Reply.flow(1, step: Self.openURL)),
        .wait(after: 1, Reply.flow(2, status: "failed", failure: failure)),
      ])
    #expect(
      outcome.error.hasSuffix(
        "usherctl: you said no\nreason: denied\nwork said: access_denied\n"))
    #expect(outcome.status == 3)
    #expect(outcome.output == "")
  }

  @Test("an input that ends before the answer says so")
  func endOfInput() async throws {
    let outcome = try await usherctl(
      "flow run work authorize --request-id r",
      asking: [.ask("flow.start", Self.start, Reply.flow(1, step: Self.code))])
    #expect(
      outcome.error.hasSuffix(
        """
        usherctl: flow flw_1 waits for an answer, and the input has ended
        cancel it: usherctl flow cancel flw_1

        """))
    #expect(outcome.status == 1)
  }

  @Test("whoever interrupts cancels the flow: 3")
  func interrupted() async throws {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let cancelled = try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        switch call.method {
        case "flow.start": try await peer.reply(call, Reply.flow(1, step: Self.openURL))
        case "flow.wait": ask.yield()
        case "flow.cancel": try await peer.reply(call, Reply.flow(2, status: "cancelled"))
        default: #expect(call.method == "rpc.cancel")
        }
      }
    } _: { daemon in
      let running = Task {
        await usherctl(
          "login work", terminal: ScriptedTerminal(interactive: true, silence: true),
          environment: ["USHER_SOCKET": daemon.path])
      }
      for await _ in asked { break }
      running.cancel()
      return await running.value
    }
    #expect(cancelled.error.hasSuffix("usherctl: the flow was cancelled\n"))
    #expect(cancelled.status == 3)
  }

  @Test("flow list, show and cancel; a step's credential is not shown")
  func others() async throws {
    let list = try await usherctl(
      "flow list --status active",
      asking: [.ask("flow.list", ["status": "active"], Self.flows)])
    #expect(
      list.output == """
        FLOW   PROVIDER  KIND       STATUS  STATE  UPDATED
        flw_1  work      authorize  active  s      2030-01-01T00:00:00Z

        """)
    let step = #"""
      {"type":"exchangeCredential","credential":{"type":"authCode","code":"c-1"},\#
      "codeVerifier":"v-1","requestId":"q","deadline":"2030-01-01T00:01:00Z"}
      """#
    for line in ["flow show flw_1", "flow show flw_1 --json"] {
      let show = try await usherctl(
        line, asking: [.ask("flow.get", ["flow": "flw_1"], Reply.flow(1, step: step))])
      #expect(show.output.contains("exchangeCredential"))
      #expect(!show.output.contains("c-1") && !show.output.contains("v-1"))
    }
    let cancel = try await usherctl(
      "flow cancel flw_1",
      asking: [.ask("flow.cancel", ["flow": "flw_1"], Reply.flow(2, status: "cancelled"))])
    #expect(cancel.output == "flow flw_1: cancelled\n")
  }

  private static var flows: String {
    let flow = Reply.flow(1).dropFirst(#"{"flow":"#.count).dropLast(#","transitions":[]}"#.count)
    return #"{"flows":[\#(flow)]}"#
  }
}

extension Exchange {
  /// `flow.start` under any request id.
  static func start(kind: String = "authorize", _ params: JSONValue, _ result: String) -> Exchange {
    ask("flow.start", ["provider": "work", "kind": .string(kind), "params": params], result)
  }

  static func wait(after revision: Int64, _ result: String) -> Exchange {
    ask(
      "flow.wait", ["flow": "flw_1", "revision": .integer(revision), "timeoutMs": 30000], result)
  }

  static func submit(_ revision: Int64, _ input: JSONValue, _ result: String) -> Exchange {
    ask("flow.submit", ["flow": "flw_1", "revision": .integer(revision), "input": input], result)
  }
}
