import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Codes and sign-ins with `usherctl`.
@Suite(
  "BSA: usherctl totp, flow run bsa authenticate", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCommandTests {
  @Test("totp code into a pipe is the code and nothing else; totp list names its account")
  func piped() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    let account = try scene.registered().account?.stringValue ?? ""
    try clock.advance(toNextStepOf: 60)
    let code = try scene.daemon.usherctl(["totp", "code", "bsa"])
    #expect(try code.status == 0 && code.output == scene.numberOfSecret() + "\n", "\(code)")
    let list = try scene.daemon.usherctl(["totp", "list"])
    #expect(list.output.contains(account) && list.output.contains("alice.01"), "\(list)")
    let refused = try scene.daemon.usherctl(["totp", "code", "nobody"])
    #expect(refused.status != 0 && refused.output == "" && !refused.errors.isEmpty, "\(refused)")
  }

  @Test("flow run bsa authenticate by a TOTP number, at a terminal: passcode, number, signed in")
  func signIn() throws {
    let clock = MovableClock()
    let scene = try BSAScene(clock: clock)
    try scene.registered()
    try clock.advance(toNextStepOf: 60)
    let program = try ProgramAtTerminal(
      BuiltProduct.path("usherctl"),
      [
        "--socket", scene.daemon.socketPath, "flow", "run", "bsa", "authenticate", "--param",
        "by=totp",
      ])
    try program.shows("sign in to bsa as alice.01")
    try eventually("it is not shown") { !program.echoes }
    try program.type("\(BSAScene.passcode)\r")
    let number = try scene.numberOfSecret()
    try program.shows("enter the code \(number) at")
    _ = try scene.visit("totp", number: number)
    try program.shows("by bsa as alice.01")
    try eventually("it is not shown") { !program.echoes }
    try program.type("\(BSAScene.passcode)\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(program.text.contains("succeeded") && !program.text.contains(BSAScene.passcode))
    let token = try scene.daemon.usherctl(["token", "get", "bsa"])
    #expect(
      try scene.owner(of: token.output.trimmingCharacters(in: .newlines)) == "alice.01")
  }
}
