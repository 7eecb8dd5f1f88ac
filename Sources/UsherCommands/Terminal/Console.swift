import FoundationEssentials
import UsherClient
import UsherCore

/// Prints to the terminal and reads from it. Text from providers is made safe to print; no other
/// type writes to the terminal.
struct Console: Sendable {
  private let terminal: any Terminal

  init(_ terminal: any Terminal) { self.terminal = terminal }

  var isInteractive: Bool { terminal.isInteractive }

  /// Prints a line of the requested output, to standard output.
  func print(_ line: String) { terminal.write(line.printable + "\n", to: .output) }

  /// Prints a line of progress, warning or error, to standard error.
  func printMessage(_ line: String) { terminal.write(line.printable + "\n", to: .error) }

  /// Prints a question without a newline, so that the answer is typed behind it.
  func prompt(_ text: String) { terminal.write(text.printable, to: .error) }

  private func endLine() { terminal.write("\n", to: .error) }

  /// Prints several lines of usherctl's own text.
  func printLines(_ text: String, to stream: TerminalStream = .output) {
    let body = text.hasSuffix("\n") ? text.dropLast() : text[...]
    for line in body.split(separator: "\n", omittingEmptySubsequences: false) {
      terminal.write(String(line).printable + "\n", to: stream)
    }
  }

  /// Prints the daemon's reply as one line of JSON.
  func json(_ bytes: [UInt8]) {
    terminal.write(String(decoding: bytes, as: UTF8.self).printableJSON + "\n", to: .output)
  }

  /// Prints a value that usherctl computed as one line of JSON.
  func json(of value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    json(Array(try encoder.encode(value)))
  }

  /// Prints a secret that the person requested. The caller ensures that it is printable.
  func reveal(_ secret: Secret) { terminal.write(secret.revealed() + "\n", to: .output) }

  /// Reads the person's answer to the last prompt; nil at the end of the input.
  ///
  /// Later output begins on a new line, even if no newline was typed or shown.
  func readLine(echo: Bool = true) async throws -> String? {
    do {
      let line = try await terminal.readLine(echo: echo)
      if isInteractive && (line == nil || !echo) { endLine() }
      return line
    } catch {
      endLine()
      throw error
    }
  }

  func readAll(limit: Int) async throws -> [UInt8] { try await terminal.readAll(limit: limit) }
}

// MARK: - Tables

extension Console {
  /// Prints rows under headings, in columns two spaces apart; only `none`, as a message, if there
  /// are no rows.
  func table(_ headings: [String], _ rows: [[String]], none: String? = nil) {
    if rows.isEmpty, let none { printMessage(none) }
    guard !rows.isEmpty else { return }
    let all = [headings] + rows.map { $0.map { $0.isEmpty ? "-" : $0.printable } }
    let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    for row in all { print(Self.line(row, widths)) }
  }

  /// Prints names and values, one pair per line; nil values are left out.
  func printProperties(_ properties: [(name: String, value: String?)]) {
    let known = properties.compactMap { property in property.value.map { (property.name, $0) } }
    let width = known.map(\.0.count).max() ?? 0
    for (name, value) in known { print(Self.line([name, value.printable], [width, 0])) }
  }

  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    let padded = zip(cells, widths).map { cell, width in
      cell + String(repeating: " ", count: max(0, width - cell.count))
    }
    var line = padded.joined(separator: "  ")
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }
}

// MARK: - A line above a question

extension Console {
  /// Whether lines that were printed can be overwritten.
  var canRewrite: Bool { terminal.columns != nil }

  /// Overwrites the line above the current prompt; text typed so far stays.
  ///
  /// - Returns: False without a screen, or if the line is too long for it.
  func rewriteLineAbove(_ line: String) -> Bool {
    let line = line.printable
    guard let columns = terminal.columns, line.count < columns else { return false }
    // The escape sequences: save the cursor (DECSC), cursor up, carriage return, the line, erase to
    // its end, restore the cursor (DECRC) (ECMA-48, DEC STD 070). They are sent in one write, so
    // that no typed key is echoed in between.
    terminal.write("\u{1B}7\u{1B}[A\r\(line)\u{1B}[K\u{1B}8", to: .error)
    return true
  }
}
