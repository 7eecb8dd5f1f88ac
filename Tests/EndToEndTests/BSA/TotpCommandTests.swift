import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Codes and sign-ins with `usherctl`.
@Suite(
  "BSA: usherctl totp, flow run bsa authenticate", .mayBlock, .timeLimit(.minutes(10)))
struct TotpCommandTests {
  private func usherctl(
    _ scene: BSAScene, _ line: String, input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    try scene.daemon.usherctl(line.split(separator: " ").map(String.init), input: input)
  }

  private func terminal(_ scene: BSAScene, _ line: String) throws -> ProgramAtTerminal {
    try ProgramAtTerminal(
      BuiltProduct.path("usherctl"),
      ["--socket", scene.daemon.socketPath] + line.split(separator: " ").map(String.init))
  }

  @Test(
    "totp code into a pipe is the code and nothing else; the time that is left stands beside it")
  func piped() throws {
    let scene = try BSAScene()
    let account = try scene.registered().account?.stringValue ?? ""
    try waitForRoom(20, inStepOf: 60)
    let right = try scene.numberOfSecret() + "\n"
    for line in ["totp code bsa", "totp code --account \(account)"] {
      let code = try usherctl(scene, line)
      #expect(code.status == 0 && code.output == right, "\(code)")
      #expect(code.errors.contains(/^good for another (1 min|[0-9]+ s)\n$/), "\(code.errors)")
    }
    let json = try usherctl(scene, "--json totp code bsa")
    let told = try JSONValue(parsing: Array(json.output.utf8))
    #expect(told.code + "\n" == right && told["periodSeconds"] == 60, "\(json)")
  }

  @Test("totp code at a terminal shows the code and how long it is good")
  func atTerminal() throws {
    let scene = try BSAScene()
    try scene.registered()
    try waitForRoom(20, inStepOf: 60)
    let program = try terminal(scene, "totp code bsa")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    let screen = program.text
    #expect(try screen.contains(scene.numberOfSecret()), "\(screen)")
    #expect(screen.contains(/good for another (1 min|[0-9]+ s)/), "\(screen)")
  }

  @Test("totp list names the accounts that have codes")
  func list() throws {
    let scene = try BSAScene()
    let none = try usherctl(scene, "totp list")
    #expect(none.status == 0 && none.errors.contains("no accounts with one-time codes"))
    let account = try scene.registered().account?.stringValue ?? ""
    for line in ["totp list", "totp list --provider bsa"] {
      let list = try usherctl(scene, line)
      #expect(list.output.contains(account) && list.output.contains("alice.01"), "\(list)")
      #expect(list.output.contains("60 s"), "\(list.output)")
    }
    let json = try usherctl(scene, "--json totp list")
    #expect(try JSONValue(parsing: Array(json.output.utf8))["accounts"]?[0]?["digits"] == 6)
    #expect(try !usherctl(scene, "totp list --provider local").output.contains(account))
  }

  @Test("what there is no code of is said in a sentence")
  func nothing() throws {
    let scene = try BSAScene()
    for line in ["totp code bsa", "totp code --account acc_0000000000000000", "totp code nobody"] {
      let refused = try usherctl(scene, line)
      #expect(refused.status != 0 && refused.output == "" && !refused.errors.isEmpty, "\(refused)")
    }
  }

  @Test("flow run bsa authenticate by a TOTP number, at a terminal: passcode, number, signed in")
  func signIn() throws {
    let scene = try BSAScene()
    try scene.registered()
    try waitForRoom(30, inStepOf: 60)
    let program = try terminal(scene, "flow run bsa authenticate --param by=totp")
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
    let token = try usherctl(scene, "token get bsa")
    #expect(
      try scene.owner(of: token.output.trimmingCharacters(in: .newlines)) == "alice.01")
  }

  @Test("flow run bsa authenticate by push, into pipes")
  func push() throws {
    let scene = try BSAScene()
    try scene.registered()
    let visit = try scene.visit()
    let done = try usherctl(
      scene, "flow run bsa authenticate", input: "\(BSAScene.passcode)\n")
    #expect(done.status == 0, "\(done.errors)")
    #expect(try scene.atSite(visit)["state"] == "completed")
    #expect(done.errors.contains("a site to ask for a sign-in"), "\(done.errors)")
  }

  @Test("flow run bsa reregisterDevice: number and passcode are asked for")
  func device() throws {
    let old = try BSAScene()
    try old.registered()
    let scene = try BSAScene(sandbox: old.sandbox)
    let program = try ProgramAtTerminal(
      BuiltProduct.path("usherctl"),
      [
        "--socket", scene.daemon.socketPath, "flow", "run", "bsa", "reregisterDevice",
        "--param", "userKey=alice.01", "--param", "name=Alice Adams", "--param", "verifyBy=email",
        "--param", "verifyData=alice@example.com",
      ])
    try program.shows("was sent by e-mail")
    try program.type("\(scene.number(to: "alice@example.com"))\r")
    try program.shows("register alice.01 at bsa")
    try eventually("it is not shown") { !program.echoes }
    try program.type("\(BSAScene.passcode)\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    try waitForRoom(15, inStepOf: 60)
    #expect(try usherctl(scene, "totp code bsa").output == scene.numberOfSecret() + "\n")
  }
}
