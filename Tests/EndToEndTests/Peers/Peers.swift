import Foundation
import UsherTestKit

/// The programs from outside the project that these tests use: Chromium, OpenID providers, Python.
enum Peers {
  /// The path of the virtual environment's Python interpreter.
  static let python = "\(environment)/bin/python"

  /// Whether all programs are installed. Tries to install missing ones first.
  static let areHere: Bool = {
    if missing().isEmpty { return true }
    install()
    let still = missing()
    if !still.isEmpty {
      complain("SKIPPED, NOT PROVEN: not here: \(still.joined(separator: ", "))")
    }
    return still.isEmpty
  }()

  /// Returns the path of a script beside this file.
  static func script(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
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
    let files = [
      "/usr/bin/chromium", "/usr/bin/glewlwyd", "/usr/bin/openssl", "/usr/bin/plackup",
      "/usr/bin/sqlite3", "/usr/share/lemonldap-ng/portal/htdocs/index.psgi",
    ]
    var missing = files.filter { !FileManager.default.fileExists(atPath: $0) }
    let modules = "authlib, flask, idpyoidc, playwright.sync_api, requests"
    let tried = try? run(python, ["-c", "import \(modules)"])
    if tried?.status != 0 { missing.append("\(modules) in \(environment)") }
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
}
