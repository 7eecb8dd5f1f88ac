import Foundation
import UsherTestKit

/// What stands beside the project in these tests: a browser, a provider of Debian's, Python.
enum Peers {
  /// The virtual environment's interpreter.
  static let python = "\(environment)/bin/python"

  /// Whether everything is here. What was missing has been installed by then where that can be.
  static let areHere: Bool = {
    if missing().isEmpty { return true }
    install()
    let still = missing()
    if !still.isEmpty {
      complain("SKIPPED, NOT PROVEN: not here: \(still.joined(separator: ", "))")
    }
    return still.isEmpty
  }()

  /// A script beside this file.
  static func script(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// A port on the loopback that nobody listens at, below those that the kernel hands out itself.
  static func freePort() throws -> Int {
    for _ in 0..<100 {
      let port = Int.random(in: 10_000..<30_000)
      if isFree(port) { return port }
    }
    throw TestTrouble("no free port")
  }
}

extension Peers {
  private static let environment: String = {
    let variables = ProcessInfo.processInfo.environment
    if let path = variables["USHER_TEST_VENV"] { return path }
    let cache = variables["XDG_CACHE_HOME"] ?? "\(variables["HOME"] ?? "")/.cache"
    return "\(cache)/usherd-test-venv"
  }()

  private static func missing() -> [String] {
    let programs = [
      "/usr/bin/chromium", "/usr/bin/glewlwyd", "/usr/bin/openssl", "/usr/bin/sqlite3",
    ]
    var missing = programs.filter { !FileManager.default.isExecutableFile(atPath: $0) }
    let tried = try? run(python, ["-c", "import playwright.sync_api, requests"])
    if tried?.status != 0 { missing.append("playwright and requests in \(environment)") }
    return missing
  }

  private static func install() {
    let installer = URL(fileURLWithPath: #filePath)
      .appendingPathComponent("../../../../Packaging/install-dependencies").standardized.path
    do {
      let done = try run("/bin/bash", [installer, "test"], within: 600)
      if done.status != 0 { complain("\(installer) test: \(done.output)\(done.errors)") }
    } catch {
      complain("\(installer) test: \(error)")
    }
  }

  private static func complain(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }

  private static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    } == 0
  }
}
