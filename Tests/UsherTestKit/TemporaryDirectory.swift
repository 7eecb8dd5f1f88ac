package import Foundation

/// A directory for one test, which is removed with its contents on deinitialization.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    // Short, because the path of a Unix socket has at most 107 bytes.
    path = "/tmp/ut-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
  }

  deinit { remove() }

  /// Removes the directory now. Open files stay open.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }

  /// Installs a file as a program that can be executed at once.
  ///
  /// A file that is open for writing cannot be executed ("Text file busy"). When another test
  /// starts a program, the child has all open files of this process until its exec, so the file is
  /// written by another process.
  @discardableResult
  package func install(_ content: String, as name: String) throws -> String {
    let done = try run("/usr/bin/install", ["-m", "755", content, file(name)])
    guard done.status == 0 else { throw TestError("cannot install \(name): \(done.errors)") }
    return file(name)
  }

  /// All bytes of all files in the directory, for ``CanarySearch``.
  package func everything() -> [(name: String, bytes: Data)] {
    let names = FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []
    return names.compactMap { name in
      FileManager.default.contents(atPath: file(name)).map { (name, $0) }
    }
  }
}

/// The programs that `swift build` made: next to the test bundle, or in `USHER_BIN`.
package enum BuiltProduct {
  package static func path(_ name: String) -> String {
    if let directory = ProcessInfo.processInfo.environment["USHER_BIN"] {
      return "\(directory)/\(name)"
    }
    let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
    var directory = URL(fileURLWithPath: bundle).deletingLastPathComponent()
    if !FileManager.default.isExecutableFile(atPath: directory.appendingPathComponent(name).path) {
      directory = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        .appendingPathComponent(".build/debug")
    }
    return directory.appendingPathComponent(name).path
  }
}

package struct TestError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Throws if `holds` is false. For checks that run outside a test's own task.
package func must(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  guard holds else { throw TestError(what()) }
}
