import Logging

/// Converts a log entry to the journal's `FIELD=value` form, systemd.journal-fields(7).
enum JournalFields {
  static func fields(of entry: LogEntry) -> [String] {
    var fields = [
      "MESSAGE=\(entry.event.message)",
      "PRIORITY=\(entry.event.level.priority)",
      "SYSLOG_IDENTIFIER=usherd",
      "CODE_FILE=\(entry.event.file)",
      "CODE_LINE=\(entry.event.line)",
      "CODE_FUNC=\(entry.event.function)",
      "USHER_LOGGER=\(entry.label)",
    ]
    for (key, value) in entry.metadata {
      if key == LogEntry.messageIDKey, let id = messageID(value) {
        fields.append("MESSAGE_ID=\(id)")
      } else {
        fields.append("\(name(for: key))=\(value)")
      }
    }
    return fields
  }

  /// Returns the journal field name for a metadata key: `correlationId` becomes
  /// `USHER_CORRELATION_ID`.
  ///
  /// The prefix keeps metadata from being taken for one of the journal's own fields. The name has
  /// at most 64 characters, as the journal requires.
  static func name(for key: String) -> String {
    let characters = Array(key)
    var name = "USHER_"
    for (index, character) in characters.enumerated() {
      guard character.isASCII, character.isLetter || character.isNumber else {
        name += "_"
        continue
      }
      if index > 0, startsWord(at: index, in: characters) { name += "_" }
      name += character.uppercased()
    }
    return String(name.prefix(64))
  }

  /// Returns the 32 lowercase hexadecimal digits of a message id (the journal's `MESSAGE_ID`),
  /// which may have the hyphens of a UUID. Returns nil for any other text.
  static func messageID(_ text: String) -> String? {
    let digits = text.filter { $0 != "-" }.lowercased()
    let isID = digits.count == 32 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
    return isID ? digits : nil
  }

  /// Whether the letter at `index` is a capital that starts a new word: after a lowercase letter or
  /// digit, or before a lowercase letter, like the T of `IDToken`.
  private static func startsWord(at index: Int, in characters: [Character]) -> Bool {
    guard characters[index].isUppercase else { return false }
    let before = characters[index - 1]
    if before.isLowercase || before.isNumber { return true }
    let next = index + 1
    return before.isUppercase && next < characters.count && characters[next].isLowercase
  }
}
