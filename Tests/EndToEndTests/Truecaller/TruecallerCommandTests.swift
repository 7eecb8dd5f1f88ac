import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Verifications with `usherctl` in a pipe.
@Suite("Truecaller with usherctl", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerCommandTests {
  private let fixture: TruecallerFixture
  private let place: TemporaryDirectory

  init() throws {
    fixture = try TruecallerFixture()
    place = try TemporaryDirectory()
  }

  /// Starts `usherctl flow run truecaller verifyPhone` with a pipe as its standard input.
  private func run(_ more: String...) throws -> (program: PipedProgram, () -> String) {
    let program = try PipedProgram(
      BuiltProduct.path("usherctl"), fixture.command(more), in: place)
    return (program, { program.log })
  }

  @Test("usherctl asks for Truecaller's code and names, shows the time left, prints the profile")
  func verify() throws {
    let (program, log) = try run()
    try eventually("usherctl asks for a code: \(log())") { log().contains("6 digits") }
    #expect(log().contains("+91 ••• 210"))
    #expect(log().firstMatch(of: /(1 min|[0-9]+ s) left/) != nil, "\(log())")
    try program.type(try fixture.wrongCode(), "Asha", "Rao")
    try eventually("usherctl reports the wrong code: \(log())") { log().contains("wrong code") }
    try program.type(try fixture.code(), "Asha", "")
    #expect(try program.exitStatus() == 0, "\(log())")
    #expect(program.output.contains("succeeded"))
    #expect(program.output.contains("919876543210"))
    #expect(try fixture.profile()["firstName"] == "Asha")
    #expect(try fixture.profile()["lastName"] == "")
    let token = try fixture.daemon.usherctl(["token", "get", "truecaller"])
    #expect(token.status == 0, "\(token.errors)")
  }

  @Test("usherctl flow run verifyPhone asks for nothing if Truecaller verified the number before")
  func verifiedBefore() throws {
    try fixture.verified()
    let (program, log) = try run("--json")
    #expect(try program.exitStatus() == 0, "\(log())")
    #expect(!log().contains("6 digits"))
    #expect(try program.reply()["state"] == "verifiedBefore")
    #expect(try fixture.messages().count == 1)
  }

  @Test(
    "usherctl exits with status 3 and TCError 14 for an invalid number or an unknown country",
    arguments: [("987654321", "IN"), (TruecallerFixture.number, "XX")])
  func impossible(number: String, country: String) throws {
    for more in [[], ["--json"]] {
      let end = try fixture.daemon.usherctl(fixture.command(more, number, country, socket: false))
      #expect(end.status == 3, "\(end.errors)")
      if more.isEmpty {
        #expect(end.errors.contains("truecaller said: 14"), "\(end.errors)")
        #expect(end.output.isEmpty)
      } else {
        let flow = try JSONValue(parsing: end.output)["flow"] ?? .null
        #expect(flow.failure == ["invalid_request", "14", nil])
      }
    }
    #expect(try fixture.requests("create") == 0)
  }
}

/// Verifications with `usherctl` at a terminal.
@Suite("Truecaller with usherctl at a terminal", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerTerminalTests {
  private let fixture: TruecallerFixture
  private let clock = MovableClock()

  init() throws { fixture = try TruecallerFixture(clock: clock) }

  /// Starts `usherctl` with the clock of daemon and provider.
  private func run() throws -> ProgramAtTerminal {
    let environment = try clock.environment.map { "\($0.key)=\($0.value)" }
    return try ProgramAtTerminal(
      "/usr/bin/env", environment + [BuiltProduct.path("usherctl")] + fixture.command([]))
  }

  /// Returns the remaining seconds that a text shows, in order.
  private func seconds(_ text: String) -> [Int] {
    text.matches(of: /6 digits, ([0-9]+) s left/).compactMap { Int($0.1) }
  }

  @Test("usherctl counts a Truecaller code's time down on one line; r has a new code sent")
  func countdown() throws {
    // The clock jumps; usherctl reads it every second.
    try fixture.set(["tokenTtl": 50])
    let program = try run()
    try program.shows("code: ", within: 60)
    try clock.set(ahead: 20)
    try eventually("usherctl shows at most 30 s left: \(program.text)") {
      seconds(program.text).contains { $0 <= 30 }
    }
    try clock.set(ahead: 51)
    try program.shows("6 digits, expired, r for a new code", within: 60)
    let told = seconds(program.text)
    #expect(told.count >= 2 && told.allSatisfy { (1...50).contains($0) }, "\(program.text)")
    #expect(zip(told, told.dropFirst()).allSatisfy { $0 > $1 }, "\(told)")
    // The first time is a new line; the later ones and the end overwrite that line.
    #expect(program.text.occurrences(of: ProgramAtTerminal.lineAbove) == told.count)
    #expect(program.text.occurrences(of: "code: ") == 1)

    try program.type("r\r")
    try eventually("usherctl shows the time left for the new code: \(program.text)") {
      seconds(program.text).count > told.count
    }
    #expect(try fixture.messages().count == 2)
    try program.type("\(try fixture.code())\rAsha\rRao\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(program.text.contains("succeeded"))
  }

  @Test("usherctl keeps typed characters while it updates the remaining time")
  func typing() throws {
    let program = try run()
    try program.shows("code: ")
    let code = try fixture.code()
    try program.type("\(code.prefix(3))")
    let before = program.text.occurrences(of: ProgramAtTerminal.lineAbove)
    try eventually("usherctl updates the time left: \(program.text)") {
      program.text.occurrences(of: ProgramAtTerminal.lineAbove) > before
    }
    try program.type("\(code.dropFirst(3))\rAsha\r\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
  }

  @Test("usherctl discards characters typed for a question that has been withdrawn")
  func takenBack() throws {
    let program = try run()
    try program.shows("code: ")
    try program.type("999")
    let flow = try fixture.app.call("flow.list", [:])["flows"]?[0] ?? .null
    _ = try fixture.enter(fixture.wrongCode(), to: flow)
    try eventually("usherctl reports the wrong code and asks again: \(program.text)") {
      program.text.contains("wrong code\r\n") && program.text.occurrences(of: "code: ") == 2
    }
    try program.type("\(try fixture.code())\rAsha\rRao\r")
    #expect(try program.exitStatus() == 0, "\(program.text)")
    #expect(try fixture.requests("verify") == 2)
    #expect(!program.text.contains("enter a code of"))
  }

  @Test("Ctrl-C in usherctl cancels verifyPhone with exit status 3", arguments: ["", "123456\r"])
  func interrupted(typed: String) throws {
    let program = try run()
    try program.shows("code: ")
    try program.type(typed)
    if !typed.isEmpty { try program.shows("first name: ") }
    try program.type(ProgramAtTerminal.controlC)
    #expect(try program.exitStatus() == 3, "\(program.text)")
    #expect(program.text.hasSuffix("\r\nusherctl: the flow was cancelled\r\n"))
    let flow = try fixture.app.call("flow.list", [:])["flows"]?[0]
    #expect(flow?["status"] == "cancelled")
    #expect(try fixture.requests("verify") == 0)
  }
}

extension TruecallerFixture {
  /// Returns `usherctl`'s arguments.
  fileprivate func command(
    _ more: [String], _ number: String = number, _ country: String = "IN", socket: Bool = true
  ) -> [String] {
    (socket ? ["--socket", daemon.socketPath] : []) + [
      "flow", "run", "truecaller", "verifyPhone", "--phone", number, "--country", country,
    ] + more
  }
}

extension String {
  /// Returns how often a text occurs.
  fileprivate func occurrences(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
