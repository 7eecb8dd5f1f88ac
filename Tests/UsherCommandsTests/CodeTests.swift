import JSONRPC
import Testing
import UsherCommands

@Suite("usherctl's prompt for a one-time code", .timeLimit(.minutes(10)))
struct CodeTests {
  @Test("usherctl's prompt for a code shows the operation, the channel and the limits of the code")
  func code() async throws {
    let birthday = #"{"name":"dateOfBirth","type":"date","required":false}"#
    let (outcome, _) = try await answering(
      Steps.code(alsoAsk: birthday), typed: ["123456", ""],
      with: ["type": "enterCode", "code": "123456", "fields": ["dateOfBirth": ""]])
    #expect(
      outcome.error == """
        Pay: 5.00 EUR to Shop
        a code was sent by SMS to +49…12
        6 digits, 4 min 59 s left, 3 attempts left, r for a new code in 12 s
        code: date of birth (YYYY-MM-DD, optional): 
        """)
  }

  @Test(
    "usherctl's prompt for a code names the code's purpose and where it was sent",
    arguments: [
      ("sca", "SMS", "a code to approve this was sent by SMS to +49…12"),
      ("twoFactor", "email", "a code for the second factor was sent by e-mail to +49…12"),
      ("sca", "AUTHENTICATOR", "your authenticator shows a code to approve this"),
      ("otp", #"pigeon\u001b[2J"#, "a code was sent by pigeon\u{FFFD}[2J to +49…12"),
    ])
  func place(purpose: String, channel: String, line: String) async throws {
    let (outcome, _) = try await answering(
      Steps.code(purpose: purpose, channel: channel), typed: ["123456"],
      with: ["type": "enterCode", "code": "123456"])
    #expect(outcome.error.contains("\n\(line)\n"))
  }

  @Test("usherctl removes spaces and hyphens from a typed code and does not send an impossible one")
  func digits() async throws {
    let (outcome, _) = try await answering(
      Steps.code, typed: ["", "abc", "12O456", "12345", "1234567", " 123-4 56 "],
      with: ["type": "enterCode", "code": "123456"])
    #expect(outcome.error.occurrences(of: "enter a code of 6 digits\n") == 4)
    _ = try await answering(
      Steps.code(digits: "null"), typed: ["", "12-34"],
      with: ["type": "enterCode", "code": "1234"])
    _ = try await answering(
      Steps.code(digits: "null"), typed: ["a-b"], with: ["type": "enterCode", "code": "a-b"])
  }

  @Test(
    "at usherctl's prompt for a code, r or resend requests a new code, and < goes back",
    arguments: ["r", "R", "resend"])
  func resend(key: String) async throws {
    _ = try await answering(
      Steps.code(resendAt: "00:00"), typed: [key], with: ["type": "enterCode", "resend": true])
    _ = try await answering(Steps.code, typed: ["<"], with: ["type": "enterCode", "back": true])
  }

  @Test("at a field that usherctl asks for beside a code, < returns to the code")
  func backToCode() async throws {
    let names = #"""
      {"name":"firstName","type":"text","required":true},\#
      {"name":"pin","type":"password","required":true},\#
      {"name":"lastName","type":"text","required":false}
      """#
    let (outcome, _) = try await answering(
      Steps.code(alsoAsk: names),
      typed: ["111111", "<", "222222", "Ann", "<", "<", "333333", "Bo", "<", ""],
      with: [
        "type": "enterCode", "code": "333333",
        "fields": ["firstName": "Bo", "pin": "<", "lastName": ""],
      ])
    #expect(outcome.error.occurrences(of: "code: first name: ") == 3)
    #expect(outcome.error.occurrences(of: "last name (optional): ") == 2)
  }

  @Test("usherctl sends no request for a new code before its time and shows the wait")
  func early() async throws {
    let (outcome, _) = try await answering(
      Steps.code, typed: ["r", "123456"], with: ["type": "enterCode", "code": "123456"])
    #expect(outcome.error.contains("code: a new code can be requested in 12 s\n6 digits, "))
  }

  @Test("usherctl shows the provider's error for a wrong code and asks for the code again")
  func wrong() async throws {
    let problem = #"""
      {"reason":"wrong_code","title":"Wrong code","message":"that was not it",\#
      "provider":{"name":"work","code":"FAILED\u001b"}}
      """#
    let terminal = ScriptedTerminal(["111111", "222222"], interactive: true, silence: true)
    let outcome = try await usherctl(
      "flow run work authorize", terminal: terminal,
      asking: [
        .start([:], Reply.flow(1, step: Steps.code)),
        .submit(
          1, ["type": "enterCode", "code": "111111"],
          Reply.flow(2, step: Steps.code(attemptsLeft: 1), problem: problem)),
        .submit(
          2, ["type": "enterCode", "code": "222222"], Reply.flow(3, status: "succeeded")),
      ])
    #expect(
      outcome.error.contains(
        """
        code: Wrong code: that was not it
        work said: FAILED\u{FFFD}
        Pay: 5.00 EUR to Shop
        a code was sent by SMS to +49…12
        6 digits, 4 min 59 s left, 1 attempt left, r for a new code in 12 s
        """))
    #expect(outcome.status == 0)
  }

  @Test("usherctl shows the wait of a rate limit on new codes and asks the same step again")
  func coolDown() async throws {
    let problem = #"""
      {"reason":"rate_limited","title":"Too many codes","message":"too many codes",\#
      "retryAfterMs":90000}
      """#
    let terminal = ScriptedTerminal(["r", "222222"], interactive: true, silence: true)
    let step = Steps.code(resendAt: "00:00")
    let outcome = try await usherctl(
      "flow run work authorize", terminal: terminal,
      asking: [
        .start([:], Reply.flow(1, step: step)),
        .submit(
          1, ["type": "enterCode", "resend": true], Reply.flow(2, step: step, problem: problem)),
        .submit(2, ["type": "enterCode", "code": "222222"], Reply.flow(3, status: "succeeded")),
      ])
    #expect(
      outcome.error.hasSuffix(
        """
        code: Too many codes
        try again in 1 min 30 s
        6 digits, 4 min 59 s left, 3 attempts left, r for a new code
        code: 
        """))
  }
}

@Suite("usherctl's countdown of a one-time code", .timeLimit(.minutes(10)))
struct CountdownTests {
  /// Runs a flow at an `enterCode` step, and types the code after this many seconds.
  private func typing(
    after seconds: Double, columns: Int?, step: String = Steps.code
  ) async throws -> ScriptedTerminal {
    let terminal = ScriptedTerminal(interactive: true, silence: true, columns: columns)
    let outcome = try await usherctl(
      "flow run work authorize", terminal: terminal,
      time: TestTime(until: seconds) { terminal.type("123456") },
      asking: [
        .start([:], Reply.flow(1, step: step)),
        .submit(
          1, ["type": "enterCode", "code": "123456"], Reply.flow(2, status: "succeeded")),
      ])
    #expect(outcome.status == 0)
    return terminal
  }

  private static let above = ["Pay: 5.00 EUR to Shop", "a code was sent by SMS to +49…12"]

  @Test(
    "usherctl overwrites the countdown of a code on a screen every second",
    arguments: [
      (0, "6 digits, 4 min 59 s left, 3 attempts left, r for a new code in 12 s"),
      (3, "6 digits, 4 min 56 s left, 3 attempts left, r for a new code in 9 s"),
      (12, "6 digits, 4 min 47 s left, 3 attempts left, r for a new code"),
      (298, "6 digits, 1 s left, 3 attempts left, r for a new code"),
    ])
  func live(seconds: Double, line: String) async throws {
    let terminal = try await typing(after: seconds, columns: 80)
    #expect(terminal.screenLines == Self.above + [line, "code: "])
    let rewrites = terminal.error.occurrences(of: "\u{1B}7\u{1B}[A\r")
    #expect(rewrites == Int(seconds))
  }

  @Test(
    "without a screen, usherctl prints the countdown of a code again only when it ends",
    arguments: [nil, 40])
  func plain(columns: Int?) async throws {
    let step = Steps.code(resendAt: "05:09")
    let terminal = try await typing(after: 299, columns: columns, step: step)
    #expect(
      terminal.error == """
        Pay: 5.00 EUR to Shop
        a code was sent by SMS to +49…12
        6 digits, 4 min 59 s left, 3 attempts left, r for a new code in 5 min 9 s
        code: 
        6 digits, expired, 3 attempts left, r for a new code in 10 s
        code: 
        """)
    let later = try await typing(after: 304, columns: columns, step: step)
    #expect(later.error == terminal.error)
    let earlier = try await typing(after: 298, columns: columns, step: step)
    #expect(!earlier.error.contains("\u{1B}") && !earlier.error.contains("expired"))
  }

  @Test("usherctl still counts down the wait for a new code after the code has expired")
  func counting() async throws {
    let terminal = try await typing(after: 304, columns: 80, step: Steps.code(resendAt: "05:09"))
    #expect(
      terminal.screenLines == Self.above + [
        "6 digits, expired, 3 attempts left, r for a new code in 5 s", "code: ",
      ])
  }

  @Test("at usherctl's prompt, a new code can be requested after the code has expired")
  func over() async throws {
    let (outcome, _) = try await answering(
      Steps.code(resendAt: "00:00", expiresAt: "00:00"), typed: ["r"],
      with: ["type": "enterCode", "resend": true])
    #expect(
      outcome.error.hasSuffix(
        "6 digits, expired, 3 attempts left, r for a new code\ncode: "))
  }
}

extension String {
  /// Returns the number of occurrences of a text.
  func occurrences(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
