package import Foundation

/// A directory of a test's own, removed with everything in it when the test lets go of it.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    // Short: a Unix socket's path has 107 bytes at most.
    path = "/tmp/ut-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
  }

  deinit { remove() }

  /// At once. What is open stays open.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  package func file(_ name: String) -> String { "\(path)/\(name)" }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }

  /// Copies a file as a program that can be started at once.
  ///
  /// A file that is open for writing cannot be started ("Text file busy"). A program that another test
  /// is starting holds, until its exec, every file that this process has open: so another process
  /// writes it.
  @discardableResult
  package func install(_ content: String, as name: String) throws -> String {
    let done = try run("/usr/bin/install", ["-m", "755", content, file(name)])
    guard done.status == 0 else { throw TestError("cannot write \(name): \(done.errors)") }
    return file(name)
  }

  /// Every byte of every file below, for the search for canaries.
  package func everything() -> [(name: String, bytes: Data)] {
    let names = FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []
    return names.compactMap { name in
      FileManager.default.contents(atPath: file(name)).map { (name, $0) }
    }
  }
}

/// Where `swift build` put the programs: beside the test bundle, or where `USHER_BIN` says.
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
