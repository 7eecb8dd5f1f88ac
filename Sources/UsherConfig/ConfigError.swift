/// All problems of a configuration, in the order of its files.
package struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
  package var problems: [ConfigProblem]

  package init(_ problems: [ConfigProblem]) { self.problems = problems }

  /// The problems, one per line, at most the first hundred.
  package var description: String {
    let shown = 100
    var lines = problems.prefix(shown).map(\.description)
    if problems.count > shown { lines.append("and \(problems.count - shown) more problems") }
    return lines.joined(separator: "\n")
  }
}

/// One problem of a configuration and its position.
///
/// ``message`` is a sentence for the person who corrects the file. It names types and permitted
/// values. From the file it repeats only numbers that are out of range and the names of providers,
/// clients, users and groups, because any other value may be a misplaced secret.
package struct ConfigProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file's path as it was passed in; empty if the value came from no file.
  package var file: String
  /// The line, from 1; 0 if the problem concerns the whole file.
  package var line: Int
  /// The column in characters, from 1; 0 if the problem concerns the whole file.
  package var column: Int
  /// The setting's path, such as `provider[0].endpoints.token`. Array indices start at 0 and count
  /// over all files. The path is empty if the text is not TOML.
  package var key: String
  package var message: String

  package init(file: String, line: Int, column: Int, key: String, message: String) {
    self.file = file
    self.line = line
    self.column = column
    self.key = key
    self.message = message
  }

  init(_ position: SourcePosition?, key: String, _ message: String) {
    self.init(
      file: position?.file ?? "", line: position?.line ?? 0, column: position?.column ?? 0,
      key: key, message: message)
  }

  /// `file:line:column: key: message`, safe to print on a terminal.
  package var description: String {
    let place = file.isEmpty ? [] : [line == 0 ? file : "\(file):\(line):\(column)"]
    let parts = place + (key.isEmpty ? [] : [key]) + [message]
    return parts.joined(separator: ": ").withoutControls
  }
}

extension String {
  /// The text with control characters and bidirectional formatting characters replaced, because a
  /// terminal would interpret them.
  fileprivate var withoutControls: String {
    let clean = unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
      default: scalar
      }
    }
    return String(String.UnicodeScalarView(clean))
  }
}
