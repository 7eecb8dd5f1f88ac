import Foundation
import Testing
import UsherTestKit

/// The programs on the page "API for app developers" do what the page says.
@Suite("The examples of the page API", .mayBlock, .timeLimit(.minutes(10)))
struct APIExampleTests {
  private let place: TemporaryDirectory
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    place = try TemporaryDirectory()
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  @Test("the page's Python example signs a person in and gets a token")
  func python() throws { try signIn("/usr/bin/python3", [try example("sign_in.py")]) }

  @Test(
    "the page's shell example signs a person in and gets a token",
    .enabled(if: Tool.has("socat") && Tool.has("jq"), "NOT TESTED: socat or jq is missing"))
  func shell() throws { try signIn("/bin/bash", [try example("sign_in.sh")]) }

  @Test(
    "the page's JavaScript example signs a person in and gets a token",
    .enabled(if: Tool.has("node"), "NOT TESTED: node is missing"))
  func javaScript() throws {
    try signIn(try #require(Tool.path("node")), [try example("sign_in.mjs")])
  }

  @Test(
    "the page's Go example signs a person in and gets a token",
    .enabled(if: Tool.has("go"), "NOT TESTED: go is missing"))
  func go() throws {
    let program = place.file("sign_in_go")
    try build("go", ["build", "-o", program, try example("sign_in.go")])
    try signIn(program, [])
  }

  @Test(
    "the page's C example signs a person in and gets a token",
    .enabled(if: Tool.has("cc"), "NOT TESTED: cc is missing"))
  func c() throws {
    let program = place.file("sign_in_c")
    try build("cc", ["-Wall", "-Wextra", "-Werror", "-o", program, try example("sign_in.c")])
    try signIn(program, [])
  }

  private func signIn(_ executable: String, _ arguments: [String]) throws {
    let program = try RunningProgram(
      executable, arguments + ["demo"], environment: ["USHER_SOCKET": daemon.socketPath],
      log: place.file("log"))
    try eventually("the example shows a page: \(program.log)") {
      program.log.hasSuffix("\n") || !program.isRunning
    }
    let page = try #require(program.log.firstMatch(of: /open (http\S+)\n/), "\(program.log)")
    try Person.signIn(at: String(page.1))
    #expect(try program.exitStatus() == 0, "\(program.log)")
    #expect(program.log.contains("valid until 20"), "\(program.log)")
  }

  private func build(_ tool: String, _ arguments: [String]) throws {
    let caches = ["GOCACHE": place.file("cache"), "GO111MODULE": "off"]
    let outcome = try run(
      try #require(Tool.path(tool)), arguments, environment: caches, within: 300)
    try #require(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
  }

  /// Writes the code block of the page whose first line is a comment with this file name.
  private func example(_ name: String) throws -> String {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../Sources/UsherDaemon/Usher.docc/API.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let blocks = text.components(separatedBy: "```")
    let block = try #require(
      blocks.first { block in
        let lines = block.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        return lines.count == 3 && ["# \(name)", "// \(name)"].contains(String(lines[1]))
      }, "the page has no example \(name)")
    let code = block.drop { $0 != "\n" }.dropFirst()
    return try place.write(String(code), to: name)
  }
}

private enum Tool {
  static func has(_ name: String) -> Bool { path(name) != nil }

  static func path(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
    return folders.split(separator: ":").map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
