/// For how long an answer holds: `"once"`, `"session"` or a number of seconds.
public enum Remember: Sendable, Equatable {
  /// For the next such call within 5 minutes; a refusal for 60 seconds.
  case once
  /// Until the daemon ends or is locked.
  case session
  /// Over restarts too; 1 to ``longest``.
  case seconds(Int)

  /// 30 days.
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
        debugDescription: "it is neither once nor session nor seconds, 1 to \(Self.longest)")
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
