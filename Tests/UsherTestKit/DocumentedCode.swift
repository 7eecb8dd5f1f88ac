import FoundationEssentials

/// Compares the code blocks of a documentation page with the source files that CI compiles.
package struct DocumentedCode {
  /// A fenced code block of a page.
  package struct Block: Equatable {
    /// The word after the opening fence, such as `swift`.
    package var language: String
    package var lines: [String]

    package var text: String { lines.joined(separator: "\n") }
  }

  /// The blocks of the page, in order.
  package let blocks: [Block]
  private let root: URL
  private let examples: [[String]]

  /// Reads a page and the Swift files of a folder with examples.
  ///
  /// - Parameters:
  ///   - page: The name of a page in `Usher.docc`, without `.md`.
  ///   - folder: The folder with the examples, relative to the root of the repository.
  package init(page: String, examples folder: String) throws {
    root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    blocks = Self.blocks(
      of: try Self.lines(root.appending(path: "Sources/UsherDaemon/Usher.docc/\(page).md")))
    let place = root.appending(path: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
    examples = try names.filter { $0.hasSuffix(".swift") }.sorted().map {
      try Self.lines(place.appending(path: $0)).map(Self.trimmed)
    }
  }

  /// Returns the text of each block of a language.
  package func texts(_ language: String) -> [String] {
    blocks.filter { $0.language == language }.map(\.text)
  }

  /// Returns a sentence for each block that does not match the sources.
  ///
  /// - A `swift` block must be a run of consecutive lines of one example.
  /// - A `diff` block begins with `+++ PATH`. The file must exist, and each line of context must be
  ///   one of its lines.
  ///
  /// Indentation is not compared. Blocks of other languages are not checked.
  package func mismatches() -> [String] {
    blocks.compactMap { block -> String? in
      switch block.language {
      case "swift": isExample(block.lines) ? nil : "no example contains:\n\(block.text)"
      case "diff": mismatch(ofDiff: block.lines)
      default: nil
      }
    }
  }

  private func isExample(_ lines: [String]) -> Bool {
    let lines = lines.map(Self.trimmed)
    return examples.contains { example in
      guard !lines.isEmpty, lines.count <= example.count else { return false }
      return (0...(example.count - lines.count)).contains { start in
        example[start..<(start + lines.count)].elementsEqual(lines)
      }
    }
  }

  private func mismatch(ofDiff lines: [String]) -> String? {
    guard let header = lines.first, header.hasPrefix("+++ ") else {
      return "a diff names no file: \(lines.first ?? "")"
    }
    let path = String(header.dropFirst(4))
    guard let file = try? Self.lines(root.appending(path: path)) else {
      return "there is no file \(path)"
    }
    let known = Set(file.map(Self.trimmed))
    let missing = lines.dropFirst().first { line in
      line.hasPrefix(" ") && !known.contains(Self.trimmed(line))
    }
    return missing.map { "\(path) does not contain:\($0)" }
  }

  private static func blocks(of lines: [String]) -> [Block] {
    var blocks: [Block] = []
    var current: Block?
    for line in lines {
      if var block = current {
        if line == "```" {
          blocks.append(block)
          current = nil
        } else {
          block.lines.append(line)
          current = block
        }
      } else if line.hasPrefix("```") {
        current = Block(language: String(line.dropFirst(3)), lines: [])
      }
    }
    return blocks
  }

  private static func lines(_ file: URL) throws -> [String] {
    String(decoding: try Data(contentsOf: file), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static func trimmed(_ line: String) -> String {
    var text = line[...]
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
