import JSONRPC
import Testing

@testable import UsherCommands

@Suite("The errors and exit statuses of usherctl", .timeLimit(.minutes(10)))
struct FailureTests {
  @Test("usherctl without a daemon exits with 69 and prints how to start it")
  func down() async {
    let outcome = await usherctl("status")
    #expect(
      outcome.error == """
        usherctl: the socket /tmp/usher-no-such-socket does not exist
        to start usherd, run: systemctl start usherd.socket

        """)
    #expect(outcome.status == 69)
    #expect(outcome.output == "")
  }

  @Test(
    "for an error that requires a sign-in, usherctl prints the sign-in command and exits with 1")
  func next() async throws {
    let next = #"""
      ,"next":{"method":"flow.start","params":{"provider":"work","kind":"authorize",\#
      "params":{"account":"acc_1"}}}
      """#
    let outcome = try await usherctl(
      "token get work",
      asking: [
        .refuse(
          "token.get", ["provider": "work"],
          Reply.error(1102, "reauthentication_required", "sign in again", more: next))
      ])
    #expect(
      outcome.error == "usherctl: sign in again\ntry: usherctl login work --account acc_1\n")
    #expect(outcome.status == 1)
  }

  @Test(
    "for an error that requires local authentication, usherctl prints a command quoted for the shell"
  )
  func proof() async throws {
    let next = #"""
      ,"next":{"method":"flow.start","params":{"provider":"local","kind":"authenticate",\#
      "params":{"usePasscodeWhenFailed":true,"localAuthType":"biometric","reason":"Ada's $(till)"}}}
      """#
    let outcome = try await usherctl(
      "token get work",
      asking: [
        .refuse(
          "token.get", ["provider": "work"],
          Reply.error(1101, "interaction_required", "be there", more: next))
      ])
    #expect(
      outcome.error == #"""
        usherctl: be there
        try: usherctl flow run local authenticate --params '{"localAuthType":"biometric",\#
        "reason":"Ada'\''s $(till)","usePasscodeWhenFailed":true}'

        """#)
    #expect(outcome.status == 1)
  }

  @Test(
    "usherctl's exit status distinguishes missing permission, temporary errors and other errors",
    arguments: [
      (-32001, "permission_denied", 77), (-32003, "overloaded", 75),
      (1302, "provider_unreachable", 75), (1001, "not_found", 1), (-32601, "method_not_found", 1),
    ])
  func status(code: Int, reason: String, expected: Int) async throws {
    let outcome = try await usherctl(
      "status", asking: [.refuse("system.status", Reply.error(code, reason, "no"))])
    #expect(outcome.error == "usherctl: no\n")
    #expect(outcome.status == Int32(expected))
  }

  @Test("usherctl replaces control characters in a provider's error before it prints the error")
  func hostile() async throws {
    let more = #"""
      ,"provider":{"name":"work","code":"bad\u001b[2J","message":"a\nusherctl: all is well"},\#
      "retryAfterMs":2500
      """#
    let outcome = try await usherctl(
      "token get work",
      asking: [
        .refuse(
          "token.get", ["provider": "work"],
          Reply.error(1301, "provider_rejected", #"refused\r\u009b1A"#, more: more))
      ])
    #expect(
      outcome.error == """
        usherctl: refused\u{FFFD}\u{FFFD}1A
        work said: bad\u{FFFD}[2J: a\u{FFFD}usherctl: all is well
        try again in 3 s

        """)
  }

  @Test("usherctl exits with 64 for a wrong command line")
  func usage() async {
    for line in ["no-such-verb", "status --no-such-option", "flow show", "watch --topic weather"] {
      let outcome = await usherctl(line)
      #expect(outcome.status == 64)
      #expect(outcome.output == "")
      #expect(!outcome.error.isEmpty)
    }
  }

  @Test("usherctl's help lists the exit statuses, and usherctl --version prints the version")
  func help() async {
    let help = await usherctl("--help")
    #expect(help.status == 0)
    for status in ["0 ", "1 ", "3 ", "64", "69", "75", "77"] {
      #expect(help.output.contains("\n  \(status)  "))
    }
    #expect(await usherctl("--version").output == "\(Usherctl.version)\n")
    #expect(await usherctl("token").output.contains("SUBCOMMANDS"))
  }

  @Test("usherctl prints a duration in words, rounded up to seconds")
  func text() {
    let seconds = [0, 59, 60, 61, 3600, 7500, 86400, 90000]
    #expect(
      seconds.map { Duration.seconds($0).text } == [
        "0 s", "59 s", "1 min", "1 min 1 s", "1 h", "2 h 5 min", "1 d", "1 d 1 h",
      ])
    #expect(Duration.milliseconds(1).text == "1 s")
    #expect(Duration.seconds(-5).text == "0 s")
  }
}
