import JSONRPC
import Testing
import UsherCommands
import UsherTestKit

@Suite("Flows that usherctl runs in a terminal", .timeLimit(.minutes(10)))
struct FlowTests {
  @Test("usherctl shows and opens a flow's page, and submits a pasted redirect address")
  func pasted() async throws {
    let input: JSONValue = ["type": "openURL", "redirectURL": "http://127.0.0.1:1/c?code=1"]
    let (outcome, terminal) = try await answering(
      Steps.openURL, typed: ["", " http://127.0.0.1:1/c?code=1 "], with: input)
    #expect(terminal.opened == ["https://id.example/a"])
    #expect(outcome.error.hasPrefix("open this page to sign in at work:\n  https://id.example/a\n"))
  }

  @Test("usherctl hides a typed password, and an empty password leads to the alternatives")
  func password() async throws {
    let plain = #"{"type":"enterPassword","purpose":"login"}"#
    let (shown, terminal) = try await answering(
      plain, typed: ["", "pass word "], with: ["type": "enterPassword", "password": "pass word "])
    #expect(terminal.hiddenLines == ["", "pass word "])
    #expect(
      shown.error == """
        a password is required
        password (not shown): 
        password (not shown): 

        """)
    let others =
      #"{"type":"enterPassword","purpose":"login","alternatives":[{"id":"otp","label":"by SMS"}]}"#
    _ = try await answering(
      others, typed: ["", "1"], with: ["type": "enterPassword", "alternative": "otp"])
    // A PIN can look like a number of the list, so the PIN is asked for first.
    let (asked, _) = try await answering(
      others, typed: ["1"], with: ["type": "enterPassword", "password": "1"])
    #expect(asked.error.hasSuffix("password (not shown; Enter for another method): \n"))
  }

  @Test("usherctl accepts the number of an option and asks again after any other input")
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
        number: enter a number from 1 to 2
        number: enter a number from 1 to 2
        number: 
        """)
  }

  @Test("usherctl asks for the fields of a form one by one and checks their limits")
  func form() async throws {
    let step = #"""
      {"type":"fillForm","fields":[{"name":"lastName","type":"text","required":true,"maxLength":3},\#
      {"name":"pin","type":"password","required":true},\#
      {"name":"mail","type":"email","required":false}]}
      """#
    let (outcome, terminal) = try await answering(
      step, typed: ["", "toolong", "Ann", "1234", ""],
      with: ["type": "fillForm", "fields": ["lastName": "Ann", "pin": "1234"]])
    #expect(terminal.hiddenLines == ["1234"])
    #expect(
      outcome.error == """
        please fill in:
        last name: last name is required
        last name: enter at most 3 characters
        last name: pin (not shown): 
        mail (an e-mail address, optional): 
        """)
  }

  @Test(
    "at usherctl's consent question, Enter grants everything, numbers grant some, and n denies",
    arguments: [
      ("1 3", ["granted": ["n", "p"]]), ("3,1, 1", ["granted": ["n", "p"]]),
      ("2", ["granted": ["m"]]), ("", ["granted": ["n", "m", "p"]]), ("n", ["denied": true]),
    ] as [(String, JSONValue)])
  func consent(typed: String, input: JSONValue) async throws {
    let step = #"""
      {"type":"consent","client":"Till","grants":[{"id":"n","label":"name","remembered":true},\#
      {"id":"m","label":"mail","remembered":false},{"id":"p","label":"phone","remembered":false}]}
      """#
    var input = input
    input["type"] = "consent"
    let (outcome, _) = try await answering(
      step, typed: ["y", "0", "4", "1 x", ",", typed], with: input)
    let question = "Enter to grant all, numbers to grant some, n to deny: "
    let again = question + "enter numbers from this list\n"
    #expect(
      outcome.error
        == "Till asks for:\n  1  name (granted before)\n  2  mail\n  3  phone\n"
        + String(repeating: again, count: 5) + question)
  }

  @Test("usherctl withdraws its question when the daemon moves the flow on first")
  func moved() async throws {
    let terminal = ScriptedTerminal(interactive: true, silence: true)
    let done = Reply.flow(3, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --no-browser --scope openid", terminal: terminal,
      asking: [
        .start(["scope": "openid"], Reply.flow(1, step: Steps.openURL)),
        .wait(after: 1, Reply.flow(2, step: Steps.wait)),
        .wait(after: 2, done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(terminal.opened.isEmpty)
    #expect(outcome.output == "signed in as Ann (acc_1)\n")
    #expect(outcome.error.hasSuffix(": \nwaiting for the provider (at most 10 min)\n"))
    #expect(outcome.status == 0)
  }

  @Test("usherctl without a terminal waits until the page completes the flow")
  func noPerson() async throws {
    let done = Reply.flow(2, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --json",
      asking: [
        .start([:], Reply.flow(1, step: Steps.openURL)), .wait(after: 1, done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(outcome.output == #"{"account":\#(Reply.account)}"# + "\n")
  }

  @Test("usherctl shows a device code with its page and expiry")
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

  @Test("usherctl does not send an answer of an older revision to the next step of the flow")
  func conflict() async throws {
    let terminal = ScriptedTerminal(["111111", "222222"], interactive: true, silence: true)
    let done = Reply.flow(6, status: "succeeded")
    let outcome = try await usherctl(
      "flow run work authorize", terminal: terminal,
      asking: [
        .start([:], Reply.flow(1, step: Steps.code)),
        .refuse(
          "flow.submit", Exchange.submission(1, ["type": "enterCode", "code": "111111"]),
          Reply.error(1002, "conflict", "stale")),
        .ask("flow.get", ["flow": "flw_1"], Reply.flow(5, step: Steps.code)),
        .submit(5, ["type": "enterCode", "code": "222222"], done),
      ])
    #expect(outcome.error.contains("the flow has already moved on\n"))
    #expect(outcome.status == 0)
  }

  @Test("usherctl asks for the answer again after the daemon has stopped or disappeared")
  func restart() async throws {
    for stopping in [true, false] {
      let outcome = try await FakeDaemon.run { peer in
        while true {
          let call = try await peer.next()
          switch (call.method, peer.index) {
          case ("flow.start", _): try await peer.reply(call, Reply.flow(1, step: Steps.code))
          case ("flow.get", _): try await peer.reply(call, Reply.flow(1, step: Steps.code))
          case ("flow.submit", 1):
            if stopping {
              try await peer.fail(call, Reply.error(-32005, "shutting_down", "usherd is stopping"))
            }
            return
          case ("flow.submit", _):
            #expect(call.params["input"]?["code"] == "222222")
            try await peer.reply(call, Reply.flow(2, status: "succeeded"))
          default: break
          }
        }
      } _: { daemon in
        await usherctl(
          "flow run work authorize",
          terminal: ScriptedTerminal(["111111", "222222"], interactive: true, silence: true),
          environment: ["USHER_SOCKET": daemon.path])
      }
      #expect(outcome.error.contains("; your answer may be lost\n"))
      #expect(outcome.error.contains("usherd is stopping") == stopping)
      #expect(outcome.status == 0)
    }
  }

  @Test(
    "usherctl exits with 1 if the input ends before the answer, and prints how to cancel the flow")
  func endOfInput() async throws {
    let outcome = try await usherctl(
      "flow run work authorize",
      asking: [.start([:], Reply.flow(1, step: Steps.code))])
    #expect(
      outcome.error.hasSuffix(
        """
        usherctl: flow flw_1 waits for an answer, and the input has ended
        cancel it: usherctl flow cancel flw_1

        """))
    #expect(outcome.status == 1)
  }

  @Test("usherctl shows the operation with each question about it, without control characters")
  func operation() async throws {
    let operation = #"{"summary":"Pay\u001b[2J","amount":"5.00\u0007 EUR","payee":"Shop\u202e"}"#
    let line = "Pay\u{FFFD}[2J: 5.00\u{FFFD} EUR to Shop\u{FFFD}\n"
    let (choice, _) = try await answering(
      #"""
      {"type":"choose","what":"verification","options":[{"id":"OTP.SMS","label":"SMS"}],\#
      "operation":\#(operation)}
      """#, typed: ["1"], with: ["type": "choose", "id": "OTP.SMS"])
    #expect(choice.error == line + "choose a verification method:\n  1  SMS\nnumber: ")
    let (password, _) = try await answering(
      #"{"type":"enterPassword","purpose":"pin","operation":\#(operation)}"#, typed: ["1234"],
      with: ["type": "enterPassword", "password": "1234"])
    #expect(password.error.hasPrefix(line + "a PIN is required\nPIN (not shown): "))
  }

  @Test("usherctl waits while the daemon polls a page, and submits a pasted address")
  func poll() async throws {
    let step =
      #"{"type":"openURL","url":"https://id.example/a","redirectURI":"","completes":"poll"}"#
    let (pasted, terminal) = try await answering(
      step, typed: ["https://shop.example/?status=success"],
      with: ["type": "openURL", "redirectURL": "https://shop.example/?status=success"])
    #expect(terminal.opened == ["https://id.example/a"])
    #expect(pasted.error.hasPrefix("open this page to continue at work:\n  https://id.example/a\n"))
    for interactive in [true, false] {
      let waited = try await usherctl(
        "flow run work authorize",
        terminal: ScriptedTerminal(interactive: interactive, silence: interactive),
        asking: [
          .start([:], Reply.flow(1, step: step)),
          .wait(after: 1, Reply.flow(2, status: "succeeded")),
        ])
      #expect(waited.status == 0)
    }
  }

  @Test("usherctl prints the result of a flow without null values, and with --json the whole flow")
  func result() async throws {
    let body = #"{"id":"w\u001b","n":[1],"no":null,"of":{"a":true,"b":{}}}"#
    let done = Reply.flow(2, status: "succeeded", result: #"{"status":201,"body":\#(body)}"#)
    let words = try await usherctl(
      "flow run work operation", asking: [.start(kind: "operation", [:], done)])
    #expect(
      words.output == """
        flow flw_1: succeeded
        body.id    w\u{FFFD}
        body.n     [1]
        body.of.a  true
        body.of.b  {}
        status     201

        """)
    let json = try await usherctl(
      "flow run work operation --json",
      asking: [.start(kind: "operation", [:], done), .ask("flow.get", ["flow": "flw_1"], done)])
    let reply = try JSONValue(parsing: json.output)
    #expect(reply["flow"]?["result"]?["status"] == 201)
    #expect(reply["flow"]?["status"] == "succeeded")
  }

  @Test("usherctl exits with 3 for a failed flow and prints its failure, with --json also the flow")
  func failedJSON() async throws {
    let failure = #"""
      {"reason":"attempts_exhausted","title":"No attempts left","message":"too many wrong codes",\#
      "retryable":true,"provider":{"name":"work","code":"dataError"}}
      """#
    let failed = Reply.flow(2, status: "failed", failure: failure)
    for option in ["", "--json"] {
      let get = option.isEmpty ? [] : [Exchange.ask("flow.get", ["flow": "flw_1"], failed)]
      let outcome = try await usherctl(
        "flow run work sca \(option)", asking: [.start(kind: "sca", [:], failed)] + get)
      #expect(
        outcome.error == """
          usherctl: too many wrong codes
          reason: attempts_exhausted
          work said: dataError

          """)
      #expect(outcome.output.contains(#""reason":"attempts_exhausted""#) == !option.isEmpty)
      #expect(outcome.status == 3)
    }
  }

  @Test("usherctl flow list, show and cancel print the flow without the credential of its step")
  func others() async throws {
    let list = try await usherctl(
      "flow list --status active",
      asking: [.ask("flow.list", ["status": "active"], Self.flows)])
    #expect(
      list.output == """
        FLOW   PROVIDER  KIND       STATUS  STATE  UPDATED
        flw_1  work      authorize  active  s      2030-01-01T00:00:00Z

        """)
    for line in ["flow show flw_1", "flow show flw_1 --json"] {
      let show = try await usherctl(
        line, asking: [.ask("flow.get", ["flow": "flw_1"], Reply.flow(1, step: Steps.exchange))])
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
