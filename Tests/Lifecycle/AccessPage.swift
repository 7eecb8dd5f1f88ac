import Foundation
import Testing

/// The last section of Access.md: its rules are the daemon's configuration in these tests, and each
/// row of its table is a test case.
enum AccessPage {
  /// A row of the table, in the page's words.
  struct Row: Sendable, CustomTestStringConvertible {
    var who: String
    var rule: String
    /// `METHOD [PROVIDER[/KIND]]`.
    var call: String
    var answer: String

    var testDescription: String { "\(who): \(call)" }
  }

  static let config = lines.drop { $0 != "```toml" }.dropFirst().prefix { $0 != "```" }
    .joined(separator: "\n")

  static let rows = lines.filter { $0.hasPrefix("| ") }.dropFirst().map { line in
    let cells = line.split(separator: "|").map { cell in
      cell.filter { $0 != "`" }.trimmingCharacters(in: .whitespaces)
    }
    return Row(who: cells[0], rule: cells[1], call: cells[2], answer: cells[3])
  }

  /// Returns the text of a file of the repository.
  static func file(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../..").standardized
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  private static let lines: [String] = {
    let page = (try? file("Sources/UsherDaemon/Usher.docc/Access.md")) ?? ""
    return page.components(separatedBy: "### Who gets what, row by row").last?
      .components(separatedBy: "\n") ?? []
  }()
}
