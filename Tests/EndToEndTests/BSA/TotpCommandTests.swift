import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// TOTP codes and BSA sign-ins with `usherctl`.
@Suite(
  "usherctl totp, and usherctl flow run bsa authenticate", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCommandTests {
  @Test("usherctl totp code prints only BSA's code into a pipe, and totp list names the account")
  func piped() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(clock: clock)
    let account = try fixture.registered().account?.stringValue ?? ""
    try clock.advance(toNextStepOf: 60)
    let code = try fixture.daemon.usherctl(["totp", "code", "bsa"])
    #expect(try code.status == 0 && code.output == fixture.numberOfSecret() + "\n", "\(code)")
    let list = try fixture.daemon.usherctl(["totp", "list"])
    #expect(list.output.contains(account) && list.output.contains("alice.01"), "\(list)")
    let refused = try fixture.daemon.usherctl(["totp", "code", "nobody"])
    #expect(refused.status != 0 && refused.output == "" && !refused.errors.isEmpty, "\(refused)")
  }

  @Test("usherctl flow run bsa authenticate by TOTP signs in at a terminal and hides the passcode")
  func signIn() throws {
    let clock = MovableClock()
    let fixture = try BSAFixture(clock: clock)
    try fixture.registered()
    try clock.advance(toNextStepOf: 60)
    let program = try ProgramAtTerminal(
      BuiltProduct.path("usherctl"),
      [
        "--socket", fixture.daemon.socketPath, "flow", "run", "bsa", "authenticate", "--param",
        "by=totp",
      ])
    try program.shows("sign in to bsa as alice.01")
    try eventually("usherctl turns the terminal's echo off") { !program.echoes }
    try program.type("\(BSAFixture.passcode)\r")
    let number = try fixture.numberOfSecret()
    try program.shows("enter the code \(number) at")
    _ = try fixture.visit("totp", number: number)
    try program.shows("by bsa as alice.01")
    try eventually("usherctl turns the terminal's echo off") { !program.echoes }
    try program.type("\(BSAFixture.passcode)\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(program.text.contains("succeeded") && !program.text.contains(BSAFixture.passcode))
    let token = try fixture.daemon.usherctl(["token", "get", "bsa"])
    #expect(
      try fixture.owner(of: token.output.trimmingCharacters(in: .newlines)) == "alice.01")
  }
}
