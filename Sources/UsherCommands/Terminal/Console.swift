import FoundationEssentials
import UsherCore

/// The one way to the terminal: nothing a provider wrote gets there as it came.
struct Console: Sendable {
  private let terminal: any Terminal

  init(_ terminal: any Terminal) { self.terminal = terminal }

  var isInteractive: Bool { terminal.isInteractive }

  /// A line of what was asked for.
  func say(_ line: String) { terminal.write(line.printable + "\n", to: .output) }

  /// A line beside it: progress, warnings, errors.
  func note(_ line: String) { terminal.write(line.printable + "\n", to: .error) }

  /// A question whose answer is typed behind it.
  func prompt(_ text: String) { terminal.write(text.printable, to: .error) }

  private func endLine() { terminal.write("\n", to: .error) }

  /// Several lines of our own making.
  func page(_ text: String) { for line in lines(of: text) { say(line) } }

  func notePage(_ text: String) { for line in lines(of: text) { note(line) } }

  /// A reply as the daemon wrote it, on one line.
  func json(_ bytes: [UInt8]) {
    terminal.write(String(decoding: bytes, as: UTF8.self).printableJSON + "\n", to: .output)
  }

  /// What no daemon wrote, on one line likewise.
  func json(of value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    json(Array(try encoder.encode(value)))
  }

  /// A secret whose purpose is to be printed: the caller has seen to it that it is printable.
  func reveal(_ secret: Secret) { terminal.write(secret.revealed() + "\n", to: .output) }

  /// The answer to the question that was asked last; nil at the end of the input.
  ///
  /// What comes next begins a line of its own, also where no newline was typed or none was shown.
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

  private func lines(of text: String) -> [Substring] {
    let body = text.hasSuffix("\n") ? text.dropLast() : Substring(text)
    return body.split(separator: "\n", omittingEmptySubsequences: false)
  }

  private func say(_ line: Substring) { say(String(line)) }
  private func note(_ line: Substring) { note(String(line)) }
}

// MARK: - Tables

extension Console {
  /// Rows under headings, in columns two spaces apart; nothing for no rows.
  func table(_ headings: [String], _ rows: [[String]]) {
    guard !rows.isEmpty else { return }
    let all = [headings] + rows.map { $0.map { $0.isEmpty ? "-" : $0.printable } }
    let widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    for row in all { say(Self.line(row, widths)) }
  }

  /// Names and what they stand for, one a line.
  func facts(_ facts: [(name: String, value: String?)]) {
    let known = facts.compactMap { fact in fact.value.map { (fact.name, $0) } }
    let width = known.map(\.0.count).max() ?? 0
    for (name, value) in known { say(Self.line([name, value.printable], [width, 0])) }
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
  /// Whether lines can be written over at all.
  var canRewrite: Bool { terminal.columns != nil }

  /// Writes a line over the one above the question that stands; what is typed stays as it is.
  ///
  /// - Returns: Whether it could: not without a screen, or on one that is too narrow.
  func rewriteLineAbove(_ line: String) -> Bool {
    let line = line.printable
    guard let columns = terminal.columns, line.count < columns else { return false }
    // DECSC, one up, to its begin; erase what is left of it, DECRC (ECMA-48, DEC STD 070). In one
    // write, so that no key can show between its parts.
    terminal.write("\u{1B}7\u{1B}[A\r\(line)\u{1B}[K\u{1B}8", to: .error)
    return true
  }
}
