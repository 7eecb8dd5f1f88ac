/// How long an answer to a confirmation is valid: `"once"`, `"session"` or a number of seconds.
public enum Remember: Sendable, Equatable {
  /// An approval is valid for the next equal call within 5 minutes, a refusal for all equal calls
  /// within 60 seconds.
  case once
  /// The answer is valid until the daemon stops or is locked.
  case session
  /// The answer is valid for this number of seconds, 1 to ``longest``, even over a restart.
  case seconds(Int)

  /// The maximum number of seconds for which an answer can be valid: 30 days.
  public static let longest = 2_592_000
}

extension Remember: Codable {
  private enum Word: String, Codable, CaseIterable {
    case once, session
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let word = try? container.decode(Word.self) {
      switch word {
      case .once: self = .once
      case .session: self = .session
      }
    } else if let seconds = try? container.decode(Int.self), (1...Self.longest).contains(seconds) {
      self = .seconds(seconds)
    } else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription:
          "it must be once, session or a number of seconds from 1 to \(Self.longest)")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .once: try container.encode(Word.once)
    case .session: try container.encode(Word.session)
    case .seconds(let seconds): try container.encode(seconds)
    }
  }
}

extension Remember: SchemaDescribing {
  public static var schema: Schema {
    .either([.string(oneOf: Word.allCases.map(\.rawValue), format: nil), .integer])
  }

  public static var example: Remember { .once }
}
