import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Authorization with `usherctl` at a terminal.
@Suite("Freedom ID with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomCommandTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture() }

  /// `usherctl` at a terminal, with answers that are typed only after new text has appeared.
  private final class Dialogue {
    private let program: ProgramAtTerminal
    private var read = 0

    init(_ fixture: FreedomFixture, _ arguments: [String]) throws {
      program = try ProgramAtTerminal(
        BuiltProduct.path("usherctl"), ["--socket", fixture.daemon.socketPath] + arguments)
    }

    /// All output so far.
    var text: String { program.text }

    /// Waits for words after the words that the previous call found.
    func shows(_ words: String) throws {
      try eventually("the screen shows \(words): \(text)") {
        let screen = text
        guard let place = screen.dropFirst(read).range(of: words) else { return false }
        read = screen.distance(from: screen.startIndex, to: place.upperBound)
        return true
      }
    }

    func answer(_ question: String, _ line: String) throws {
      try shows(question)
      if question.hasSuffix("(not shown)") {
        try eventually("usherctl turns the terminal's echo off") { !program.echoes }
      }
      try program.type("\(line)\r")
    }

    func exitStatus() throws -> Int32 { try program.exitStatus() }
  }

  private func usherctl(_ arguments: String...) throws -> Dialogue {
    try Dialogue(fixture, arguments)
  }

  private func login(_ grants: String...) throws -> Dialogue {
    try Dialogue(fixture, ["login", "freedom"] + grants.flatMap { ["--grant", $0] })
  }

  @Test("usherctl login freedom --grant asks for each step and prints the granted profile")
  func wholeWay() throws {
    let program = try login("read.firstname", "read.phone", "read.email")
    try program.answer("choose how to sign in:", "1")
    try program.answer("phone (a phone number): ", "+44 7700 900123")
    try program.shows("was sent by SMS to +4 ••• 23")
    try program.answer("code: ", fixture.code())
    try program.answer("choose an account:", "1")
    try program.answer("passcode (not shown)", FreedomFixture.passcode)
    try program.answer("asks for:", "1 2")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    let screen = program.text
    #expect(screen.contains("\(NSUserName()) asks for:"), "\(screen)")
    #expect(screen.contains("Enter to grant all, numbers to grant some, n to deny"))
    #expect(screen.contains("signed in as +4 ••• 23 (acc_"))
    #expect(screen.contains("Alice") && screen.contains("+447700900123"))
    #expect(!screen.contains("alice@example.com") && !screen.contains(FreedomFixture.passcode))
    #expect(
      try fixture.consents().map { $0["grant"] } == ["read.firstname", "read.phone"])
  }

  @Test(
    "usherctl login at Freedom ID hides passwords, asks again after a wrong one, takes a 2FA code")
  func passwords() throws {
    let program = try login("read.firstname")
    try program.answer("choose how to sign in:", "2")
    try program.answer("email (an e-mail address): ", "aigerim@example.com")
    try program.answer("password (not shown)", "not-it-at-all")
    try program.shows("the user name or the password is wrong")
    try program.answer("password (not shown)", "aigerim-password")
    try program.shows("code for the second factor")
    try program.answer("code: ", fixture.code())
    try program.answer("choose an account:", "1")
    try program.answer("passcode (not shown)", FreedomFixture.passcode)
    try program.answer("asks for:", "")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(program.text.contains("Aigerim"))
    for secret in ["not-it-at-all", "aigerim-password", FreedomFixture.passcode] {
      #expect(!program.text.contains(secret), "the screen shows \(secret)")
    }
  }

  @Test("usherctl login with earlier Freedom ID grants asks only for the account and the passcode")
  func again() throws {
    try fixture.authorized(["read.firstname"])
    let program = try login("read.firstname")
    try program.answer("choose an account:", "1")
    try program.answer("passcode (not shown)", FreedomFixture.passcode)
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(!program.text.contains("asks for:"))
    #expect(program.text.contains("Alice"))
  }

  @Test("usherctl login at Freedom ID exits with status 3 and accessDenied after the second denial")
  func denied() throws {
    try fixture.authorized(["read.firstname"])
    let program = try login("read.email")
    for _ in 0..<2 {
      try program.answer("choose an account:", "1")
      try program.answer("passcode (not shown)", FreedomFixture.passcode)
      try program.answer("n to deny", "n")
    }
    #expect(try program.exitStatus() == 3, "\(program.text)")
    #expect(program.text.contains("accessDenied"), "\(program.text)")
  }

  @Test("usherctl exits with status 3 and Freedom ID's error without grants or with an unknown one")
  func impossible() throws {
    for (arguments, word) in [
      (
        ["flow", "run", "freedom", "authorize", "--params", #"{"grants": []}"#],
        "dataGrantsCanNotBeEmpty"
      ),
      (["login", "freedom", "--grant", "read.shoe_size"], "componentValidationError"),
    ] {
      let end = try fixture.daemon.usherctl(arguments)
      #expect(end.status == 3, "\(end)")
      #expect(end.errors.contains(word), "\(end.errors)")
    }
  }

  @Test("usherctl consent list shows Freedom ID's consents, and consent revoke ends one")
  func consents() throws {
    let program = try login("read.firstname")
    try program.answer("choose how to sign in:", "3")
    try program.answer("phone (a phone number): ", "+447700900123")
    try program.answer("password (not shown)", "alice-password")
    try program.answer("choose an account:", "1")
    try program.answer("passcode (not shown)", FreedomFixture.passcode)
    try program.answer("asks for:", "")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    let listed = try usherctl("consent", "list")
    #expect(try listed.exitStatus() == 0)
    for word in ["ACCOUNT", "(user)", "freedom", "read.firstname", "EXPIRES"] {
      #expect(listed.text.contains(word), "\(listed.text)")
    }
    let revoked = try usherctl("consent", "revoke", "freedom", "--grant", "read.firstname")
    #expect(try revoked.exitStatus() == 0)
    #expect(revoked.text.contains("revoked 1 consent"))
    #expect(try fixture.consents().isEmpty)
  }
}
