import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The whole authorization with `usherctl`, at a terminal.
@Suite("Freedom ID with usherctl", .serialized, .timeLimit(.minutes(3)))
struct FreedomCommandTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene() }

  private func usherctl(_ arguments: String...) throws -> ProgramAtTerminal {
    try ProgramAtTerminal(
      BuiltProduct.path("usherctl"), ["--socket", scene.daemon.socketPath] + arguments)
  }

  private func login(_ grants: String...) throws -> ProgramAtTerminal {
    try ProgramAtTerminal(
      BuiltProduct.path("usherctl"),
      ["--socket", scene.daemon.socketPath, "login", "freedom"]
        + grants.flatMap { ["--grant", $0] })
  }

  /// Waits for a question, and answers it.
  private func answer(
    _ question: String, _ line: String, at program: ProgramAtTerminal
  ) throws {
    try program.shows(question)
    try program.type("\(line)\r")
  }

  @Test("login freedom --grant …: way, phone, code, account, passcode, permissions, profile")
  func wholeWay() throws {
    let program = try login("read.firstname", "read.phone", "read.email")
    try answer("choose how to sign in:", "1", at: program)
    try answer("phone (a phone number): ", "+44 7700 900123", at: program)
    try program.shows("was sent by SMS to +4 ••• 23")
    try answer("code: ", scene.code(), at: program)
    try answer("choose an account:", "1", at: program)
    try answer("passcode (not shown)", FreedomScene.passcode, at: program)
    try answer("asks for:", "1 2", at: program)
    #expect(try program.exitStatus() == 0, "\(program.text)")
    let screen = program.text
    #expect(screen.contains("\(NSUserName()) asks for:"), "\(screen)")
    #expect(screen.contains("Enter to grant all, numbers to grant some, n to deny"))
    #expect(screen.contains("signed in as +4 ••• 23 (acc_"))
    #expect(screen.contains("Alice") && screen.contains("+447700900123"))
    #expect(!screen.contains("alice@example.com") && !screen.contains(FreedomScene.passcode))
    #expect(
      try scene.consents().map { $0["grant"] } == ["read.firstname", "read.phone"])
  }

  @Test("e-mail and password, not shown, with the second factor; a wrong one is asked for again")
  func passwords() throws {
    let program = try login("read.firstname")
    try answer("choose how to sign in:", "2", at: program)
    try answer("email (an e-mail address): ", "aigerim@example.com", at: program)
    try answer("password (not shown)", "not-it-at-all", at: program)
    try program.shows("the log-in is not right")
    try program.type("aigerim-password\r")
    try program.shows("code for the second factor")
    try answer("code: ", scene.code(), at: program)
    try answer("choose an account:", "1", at: program)
    try answer("passcode (not shown)", FreedomScene.passcode, at: program)
    try answer("asks for:", "", at: program)
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(program.text.contains("Aigerim"))
    for secret in ["not-it-at-all", "aigerim-password", FreedomScene.passcode] {
      #expect(!program.text.contains(secret), "\(secret) is on the screen")
    }
  }

  @Test("what was granted before is not asked: an account and the passcode are enough")
  func again() throws {
    try scene.authorized(["read.firstname"])
    let program = try login("read.firstname")
    try answer("choose an account:", "1", at: program)
    try answer("passcode (not shown)", FreedomScene.passcode, at: program)
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(!program.text.contains("asks for:"))
    #expect(program.text.contains("Alice"))
  }

  @Test("denied twice: status 3, and the SDK's word")
  func denied() throws {
    try scene.authorized(["read.firstname"])
    let program = try login("read.email")
    for _ in 0..<2 {
      try answer("choose an account:", "1", at: program)
      try answer("passcode (not shown)", FreedomScene.passcode, at: program)
      try program.shows("n to deny")
      let before = program.text.count
      try program.type("n\r")
      try eventually("it goes on: \(program.text)") {
        program.text.count > before + 20
      }
      if program.text.contains("accessDenied") { break }
    }
    #expect(try program.exitStatus() == 3, "\(program.text)")
    #expect(program.text.contains("accessDenied"), "\(program.text)")
  }

  @Test("in a pipe: no grants, and a grant that is none, end it with status 3 and the word")
  func impossible() throws {
    for (arguments, word) in [
      (["login", "freedom", "--params", #"{"grants": []}"#], "dataGrantsCanNotBeEmpty"),
      (["login", "freedom", "--grant", "read.shoe_size"], "componentValidationError"),
    ] {
      let end = try scene.daemon.usherctl(arguments)
      #expect(end.status == 3, "\(end)")
      #expect(end.errors.contains(word), "\(end.errors)")
    }
  }

  @Test("consent list shows who was granted what until when; revoke takes it back")
  func consents() throws {
    let program = try login("read.firstname")
    try answer("choose how to sign in:", "3", at: program)
    try answer("phone (a phone number): ", "+447700900123", at: program)
    try answer("password (not shown)", "alice-password", at: program)
    try answer("choose an account:", "1", at: program)
    try answer("passcode (not shown)", FreedomScene.passcode, at: program)
    try answer("asks for:", "", at: program)
    #expect(try program.exitStatus() == 0, "\(program.text)")
    let listed = try usherctl("consent", "list")
    #expect(try listed.exitStatus() == 0)
    for word in ["ACCOUNT", "(user)", "freedom", "read.firstname", "EXPIRES"] {
      #expect(listed.text.contains(word), "\(listed.text)")
    }
    let revoked = try usherctl("consent", "revoke", "freedom", "--grant", "read.firstname")
    #expect(try revoked.exitStatus() == 0)
    #expect(revoked.text.contains("revoked 1 consent"))
    #expect(try scene.consents().isEmpty)
  }

  @Test("local passcode sets what the log-in asks for")
  func passcode() throws {
    let scene = try FreedomScene(passcode: nil)
    let set = try scene.daemon.usherctl(["local", "passcode"], input: "first-passcode\n")
    #expect(set.status == 0, "\(set.errors)")
    #expect(!(set.output + set.errors).contains("first-passcode"))
    let flow = try scene.standing(at: "localAuth")
    #expect(try scene.prove("first-passcode", at: flow).state == "permissions")
  }
}
