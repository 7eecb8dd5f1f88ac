import Testing
import UsherCommands
import UsherCore

@Suite("usherctl's runner of system programs", .timeLimit(.minutes(10)))
struct MachineToolsTests {
  private let tools = MachineTools(environment: ["PATH": "bin:/none:/usr/bin:/bin"])

  private func run(
    _ script: String, input: String = "", within limit: Duration = .seconds(3600)
  ) async throws -> ToolEnding {
    try await tools.run("/bin/sh", ["-c", script], input: Secret(input), within: limit)
  }

  @Test("usherctl finds a system program only in the absolute folders of PATH")
  func found() {
    #expect(tools.path(of: "env")?.hasSuffix("/bin/env") == true)
    #expect(tools.path(of: "no-such-program") == nil)
    #expect(MachineTools(environment: ["PATH": "bin:."]).path(of: "env") == nil)
  }

  @Test("usherctl passes input, output, errors and exit status of a system program on unchanged")
  func through() async throws {
    let ending = try await run("cat; printf '\\377\\000'; echo no >&2; exit 7", input: "secret")
    #expect(ending.status == 7)
    #expect(ending.output == Array("secret".utf8) + [0xFF, 0])
    #expect(ending.errors == "no\n")
    #expect("\(ending)" == "status 7, 8 bytes")
    #expect(try await run("kill -9 $$").status == 137)
  }

  @Test("usherctl ends a system program that takes too long, writes too much or is cancelled")
  func ended() async throws {
    await #expect(throws: (any Error).self) { try await run("sleep 3600", within: .zero) }
    await #expect(throws: (any Error).self) { try await run("yes") }
    let running = Task { try await run("sleep 3600") }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
  }

  @Test("a system program that usherctl cannot start throws an error")
  func unstartable() async throws {
    await #expect(throws: (any Error).self) {
      try await tools.run("/no/such", [], input: Secret(""), within: .seconds(60))
    }
  }
}
