import JSONRPC
import Testing
import UsherCommands
import UsherCore
import UsherTestKit

@Suite("usherctl's exchange of a credential by the app's backend", .timeLimit(.minutes(10)))
struct ExchangeTests {
  private static let failure: JSONValue = [
    "type": "exchangeCredential", "failure": ["reason": "declined"],
  ]

  @Test(
    "without an exchange command, usherctl shows the credential and hides the typed answer",
    arguments: [
      (#"{"accessToken":"t"}"#, ["type": "exchangeCredential", "success": ["accessToken": "t"]]),
      ("failed declined", failure), (#"{"failure":{"reason":"declined"}}"#, failure),
    ] as [(String, JSONValue)])
  func byHand(typed: String, input: JSONValue) async throws {
    let (outcome, terminal) = try await answering(
      Steps.exchange,
      typed: ["what?", #"{"n":true}"#, #"{"failure":{"reason":"r"},"n":1}"#, typed],
      with: input)
    #expect(terminal.hiddenLines.last == typed)
    #expect(
      outcome.error == """
        exchange this at your backend until 2030-01-01T00:01:00Z:
          code          c-1
          code verifier v-1
          redirect URI  http://127.0.0.1:1/c
          request       q
        the backend's answer as a JSON object, or 'failed REASON'
        answer (not shown): 
        invalid answer: it is not a JSON object
        answer (not shown): 
        invalid answer: its member n is neither a string nor a number
        answer (not shown): 
        invalid answer: its failure has no reason, or it has other members besides failure
        answer (not shown): 

        """)
  }

  @Test(
    "usherctl passes the credential to an exchange command on standard input and does not show it")
  func byCommand() async throws {
    let program = ScriptedProgram(.done(output: Secret(#"{"accessToken":"t","expiresIn":900.0}"#)))
    let (outcome, _) = try await answering(
      Steps.exchange, typed: [],
      with: ["type": "exchangeCredential", "success": ["accessToken": "t", "expiresIn": "900"]],
      options: "--exchange-command swap", programs: program)
    let input = #"""
      {"code":"c-1","codeVerifier":"v-1","redirectURI":"http://127.0.0.1:1/c","requestId":"q"}
      """#
    #expect(
      program.runs == [.init(command: "swap", input: input + "\n", limit: .seconds(60))])
    #expect(outcome.error == "the exchange command has 1 min to answer\n")
  }

  @Test(
    "an error of usherctl's exchange command becomes the reason of the failed exchange",
    arguments: [
      (.failed(status: 3), "failed: status 3"), (.killed(signal: 9), "failed: signal 9"),
      (.outputTooLong, "printed too much"),
      (.done(output: Secret("")), "gave an invalid answer: it is not a JSON object"),
      (
        .done(output: Secret(#"{"a":"secret","b":{}}"#)),
        "gave an invalid answer: its member b is neither a string nor a number"
      ),
    ] as [(CommandEnding, String)])
  func failing(ending: CommandEnding, reason: String) async throws {
    _ = try await answering(
      Steps.exchange, typed: [],
      with: [
        "type": "exchangeCredential", "failure": ["reason": .string("exchange command \(reason)")],
      ], options: "--exchange-command swap", programs: ScriptedProgram(ending))
  }

  @Test("usherctl sends the daemon the failure that an exchange command reports")
  func declined() async throws {
    let answer = CommandEnding.done(output: Secret(#"{"failure":{"reason":"declined"}}"#))
    _ = try await answering(
      Steps.exchange, typed: [], with: Self.failure, options: "--exchange-command swap",
      programs: ScriptedProgram(answer))
  }

  @Test("usherctl leaves a flow whose exchange command exceeds its time to the daemon's deadline")
  func late() async throws {
    let failure = #"""
      {"reason":"exchange_timed_out","title":"Too late","message":"no answer came","retryable":true}
      """#
    let outcome = try await usherctl(
      "login work --exchange-command swap", programs: ScriptedProgram(.timedOut),
      asking: [
        .start([:], Reply.flow(1, step: Steps.exchange)),
        .wait(after: 1, Reply.flow(2, status: "failed", failure: failure)),
      ])
    #expect(outcome.error.contains("usherctl: no answer came\nreason: exchange_timed_out\n"))
    #expect(outcome.status == 3)
  }

  @Test("usherctl does not run an exchange command whose deadline has passed")
  func over() async throws {
    let outcome = try await usherctl(
      "flow run work authorize --exchange-command swap",
      asking: [
        .start([:], Reply.flow(1, step: Steps.exchange(until: "00:00"))),
        .wait(after: 1, Reply.flow(2, status: "succeeded")),
      ])
    #expect(outcome.error == "the exchange command has 0 s to answer\n")
  }

  @Test("usherctl cancels an exchange command whose flow has left the exchange step")
  func moved() async throws {
    let outcome = try await usherctl(
      "flow run work authorize --exchange-command swap", programs: ScriptedProgram(nil),
      asking: [
        .start([:], Reply.flow(1, step: Steps.exchange)),
        .wait(after: 1, Reply.flow(2, status: "succeeded")),
      ])
    #expect(outcome.status == 0)
  }

  @Test(
    "usherctl reports a refused exchange answer as a failure and does not run the command again")
  func refused() async throws {
    let program = ScriptedProgram(.done(output: Secret(#"{"access_token":"t"}"#)))
    let message = "input.success.accessToken is missing"
    let reason = "exchange command gave an invalid answer: \(message)"
    let outcome = try await usherctl(
      "flow run work authorize --exchange-command swap", programs: program,
      asking: [
        .start([:], Reply.flow(1, step: Steps.exchange)),
        .refuse(
          "flow.submit",
          Exchange.submission(
            1, ["type": "exchangeCredential", "success": ["access_token": "t"]]),
          Reply.error(1203, "invalid_input", message)),
        .submit(
          1, ["type": "exchangeCredential", "failure": ["reason": .string(reason)]],
          Reply.flow(2, status: "succeeded")),
      ])
    #expect(program.runs.count == 1)
    #expect(outcome.status == 0)
  }

  @Test(
    "after a lost connection, usherctl resends an exchange answer without running the command again"
  )
  func lost() async throws {
    let program = ScriptedProgram(.done(output: Secret(#"{"accessToken":"t"}"#)))
    let outcome = try await FakeDaemon.run { peer in
      while true {
        let call = try await peer.next()
        switch (call.method, peer.index) {
        case ("flow.start", _): try await peer.reply(call, Reply.flow(1, step: Steps.exchange))
        case ("flow.get", _): try await peer.reply(call, Reply.flow(1, step: Steps.exchange))
        case ("flow.submit", 1): return
        case ("flow.submit", _): try await peer.reply(call, Reply.flow(2, status: "succeeded"))
        default: break
        }
      }
    } _: { daemon in
      await usherctl(
        "flow run work authorize --exchange-command swap", programs: program,
        time: TestTime(until: 1), environment: ["USHER_SOCKET": daemon.path])
    }
    #expect(outcome.error.contains("your answer may be lost\n"))
    #expect(program.runs.count == 1)
    #expect(outcome.status == 0)
  }
}
