/// Everything that is wrong with a configuration, in the order of its files.
package struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
  package var problems: [ConfigProblem]

  package init(_ problems: [ConfigProblem]) { self.problems = problems }

  /// One problem a line; of very many only the first hundred.
  package var description: String {
    let shown = 100
    var lines = problems.prefix(shown).map(\.description)
    if problems.count > shown { lines.append("and \(problems.count - shown) more problems") }
    return lines.joined(separator: "\n")
  }
}

/// One thing that is wrong, and where.
///
/// ``message`` is a sentence for the person who mends it. It names kinds and choices, and repeats
/// no value but numbers out of range and the names of providers, clients, users and groups: a secret
/// may stand where none belongs.
package struct ConfigProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file's path as it was handed over; empty where the value came from no file.
  package var file: String
  /// From 1; 0 where the file as a whole is meant.
  package var line: Int
  /// In characters, from 1; 0 where the file as a whole is meant.
  package var column: Int
  /// The setting's path, such as `provider[0].endpoints.token`, where entries of an array count from
  /// 0 over all files; empty where the text is not TOML.
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

  /// `file:line:column: key: message`, fit for a terminal whatever the file held.
  package var description: String {
    let place = file.isEmpty ? [] : [line == 0 ? file : "\(file):\(line):\(column)"]
    let parts = place + (key.isEmpty ? [] : [key]) + [message]
    return parts.joined(separator: ": ").withoutControls
  }
}

extension String {
  /// The text with control and bidirectional formatting characters replaced, which could make a
  /// terminal show something else.
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
