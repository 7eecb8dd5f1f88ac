import Foundation
import Testing
import UsherTestKit

@Suite("Interoperability with a JSON-RPC library from PyPI", .mayBlock, .timeLimit(.minutes(10)))
struct AnyClientTests {
  /// The path of the Python virtual environment, which `Packaging/install-dependencies` fills
  /// beforehand.
  private static var environmentPath: String {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["USHER_TEST_VENV"], !path.isEmpty { return path }
    let home = environment["HOME"] ?? "/root"
    return "\(environment["XDG_CACHE_HOME"] ?? "\(home)/.cache")/usherd-test-venv"
  }

  /// Returns the path of a Python with `jsonrpcclient`; creates the virtual environment if it is
  /// missing.
  private func python() throws -> String {
    let python = "\(Self.environmentPath)/bin/python3"
    let hasLibrary = {
      FileManager.default.isExecutableFile(atPath: python)
        && (try? run(python, ["-c", "import jsonrpcclient"]).status) == 0
    }
    if !hasLibrary() {
      let made = try run("/usr/bin/python3", ["-m", "venv", Self.environmentPath])
      try #require(made.status == 0, "\(made.output)\(made.errors)")
      let installed = try run(
        "\(Self.environmentPath)/bin/pip", ["install", "--quiet", "jsonrpcclient>=4,<5"],
        within: 120)
      try #require(installed.status == 0, "\(installed.output)\(installed.errors)")
    }
    return python
  }

  @Test(
    "a Python client of a PyPI library makes calls and batches, reads errors and completes a sign-in"
  )
  func pythonClient() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try DaemonUnderTest(config: sandbox.provider())
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("any_client.py").path
    let outcome = try run(try python(), [script, daemon.socketPath, "demo"])
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    #expect(outcome.output == "all fine\n")
    #expect(try sandbox.requests("token", grantType: "authorization_code") == 1)
  }
}
