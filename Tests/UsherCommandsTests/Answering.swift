import JSONRPC
import Testing
import UsherCommands

/// Runs a flow at `step`, types the answer, and checks that `input` is sent and the flow succeeds.
func answering(
  _ step: String, typed: [String], with input: JSONValue, options: String = "",
  programs: any Programs = NoPrograms(), interactive: Bool = true
) async throws -> (Outcome, ScriptedTerminal) {
  let terminal = ScriptedTerminal(typed, interactive: interactive, silence: true)
  let done = Reply.flow(2, status: "succeeded", result: #"{"n":1}"#)
  let outcome = try await usherctl(
    "flow run work authorize \(options)", terminal: terminal, programs: programs,
    asking: [.start([:], Reply.flow(1, step: step)), .submit(1, input, done)])
  #expect(outcome.status == 0)
  #expect(outcome.output == "flow flw_1: succeeded\nn  1\n")
  return (outcome, terminal)
}

/// The steps of the flows in these tests.
enum Steps {
  static let openURL = #"""
    {"type":"openURL","url":"https://id.example/a","redirectURI":"http://127.0.0.1:1/c",\#
    "completes":"loopback"}
    """#

  /// A step on another device, which needs no input here.
  static let page = #"""
    {"type":"displayCode","userCode":"W","verificationURI":"https://id.example/d",\#
    "expiresAt":"2030-01-01T00:05:00Z"}
    """#

  static let wait = #"{"type":"wait","for":"the provider"}"#

  static let code = code()

  /// - Parameters:
  ///   - resendAt: Minutes and seconds after the start time of the tests, like `expiresAt`.
  static func code(
    purpose: String = "otp", channel: String = "sms", digits: String = "6",
    resendAt: String = "00:12",
    expiresAt: String = "04:59", attemptsLeft: Int = 3, alsoAsk: String = ""
  ) -> String {
    #"""
    {"type":"enterCode","purpose":"\#(purpose)","channel":"\#(channel)","maskedTarget":"+49…12",\#
    "digits":\#(digits),"expiresAt":"2030-01-01T00:\#(expiresAt)Z","resendAt":"2030-01-01T00:\#(resendAt)Z",\#
    "attemptsLeft":\#(attemptsLeft),"alsoAsk":[\#(alsoAsk)],\#
    "operation":{"summary":"Pay","amount":"5.00 EUR","payee":"Shop"}}
    """#
  }

  static let exchange = exchange(until: "01:00")

  static func exchange(until deadline: String) -> String {
    #"""
    {"type":"exchangeCredential","credential":{"type":"authCode","code":"c-1"},\#
    "codeVerifier":"v-1","redirectURI":"http://127.0.0.1:1/c","requestId":"q",\#
    "deadline":"2030-01-01T00:\#(deadline)Z"}
    """#
  }
}

extension Exchange {
  /// A `flow.start` call with any request id.
  static func start(kind: String = "authorize", _ params: JSONValue, _ result: String) -> Exchange {
    ask("flow.start", ["provider": "work", "kind": .string(kind), "params": params], result)
  }

  static func wait(after revision: Int64, _ result: String) -> Exchange {
    ask(
      "flow.wait", ["flow": "flw_1", "revision": .integer(revision), "timeoutMs": 30000], result)
  }

  static func submit(_ revision: Int64, _ input: JSONValue, _ result: String) -> Exchange {
    ask("flow.submit", submission(revision, input), result)
  }

  static func submission(_ revision: Int64, _ input: JSONValue) -> JSONValue {
    ["flow": "flw_1", "revision": .integer(revision), "input": input]
  }
}
