import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A verification with `usherctl`, in a pipe.
@Suite("Truecaller with usherctl", .serialized, .timeLimit(.minutes(2)))
struct TruecallerCommandTests {
  private let scene: TruecallerScene
  private let place: Workplace

  init() throws {
    scene = try TruecallerScene()
    place = try Workplace()
  }

  /// `usherctl flow run truecaller verifyPhone`, with a pipe for its input.
  private func run(_ country: String = "IN") throws -> (program: PipedProgram, () -> String) {
    let program = try PipedProgram(
      BuiltProduct.path("usherctl"),
      [
        "--socket", scene.daemon.socketPath, "flow", "run", "truecaller", "verifyPhone",
        "--param", "phoneNumber=\(TruecallerScene.number)", "--param", "countryCode=\(country)",
      ], log: place.file("log"))
    return (program, { program.log })
  }

  @Test("the code and the names are asked for with the time left, and the profile is printed")
  func verify() throws {
    let (program, log) = try run()
    try eventually("a code is asked for: \(log())") { log().contains("6 digits") }
    #expect(log().contains("+91 ••• 210"))
    #expect(log().firstMatch(of: /(1 min|[0-9]+ s) left/) != nil, "\(log())")
    try program.type(try scene.wrongCode(), "Asha", "Rao")
    try eventually("it is told: \(log())") { log().contains("wrong code") }
    try program.type(try scene.code(), "Asha", "")
    #expect(try program.exitStatus() == 0, "\(log())")
    #expect(log().contains("succeeded"))
    #expect(log().contains("919876543210"))
    #expect(try scene.profile()["firstName"] == "Asha")
    #expect(try scene.profile()["lastName"] == "")
    let token = try scene.daemon.usherctl(["token", "get", "truecaller"])
    #expect(token.status == 0, "\(token.errors)")
  }

  @Test("a number that was verified before asks for nothing")
  func verifiedBefore() throws {
    try scene.verified()
    let (program, log) = try run()
    #expect(try program.exitStatus() == 0, "\(log())")
    #expect(!log().contains("6 digits"))
    #expect(try scene.messages().count == 1)
  }

  @Test("a country that is none ends it with the TCError and status 3")
  func impossible() throws {
    let (program, log) = try run("XX")
    #expect(try program.exitStatus() == 3, "\(log())")
    #expect(log().contains("14"), "\(log())")
    #expect(try scene.requests("create") == 0)
  }

  @Test("an input that ends before the code leaves the flow to be cancelled")
  func inputEnds() throws {
    let (program, log) = try run()
    try eventually("a code is asked for: \(log())") { log().contains("6 digits") }
    try program.finishTyping()
    #expect(try program.exitStatus() != 0)
    #expect(log().contains("usherctl flow cancel flw_"), "\(log())")
  }
}

/// A program that reads from a pipe.
private final class PipedProgram {
  private let process = Process()
  private let input = Pipe()
  private let logPath: String

  init(_ executable: String, _ arguments: [String], log logPath: String) throws {
    self.logPath = logPath
    try Data().write(to: URL(fileURLWithPath: logPath))
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.standardInput = input
    let log = FileHandle(forWritingAtPath: logPath)
    process.standardOutput = log
    process.standardError = log
    try process.run()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  var log: String {
    FileManager.default.contents(atPath: logPath).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  func type(_ lines: String...) throws {
    try input.fileHandleForWriting.write(
      contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
  }

  func finishTyping() throws { try input.fileHandleForWriting.close() }

  func exitStatus() throws -> Int32 {
    try eventually(within: 20, "it has ended: \(log)") { !process.isRunning }
    return process.terminationStatus
  }
}
