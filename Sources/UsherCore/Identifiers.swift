/// A name that stands for one thing, typed so that a flow's cannot be used as an account's.
public protocol Identifier: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension Identifier {
  public init(_ text: String) { self.init(rawValue: text) }

  public var description: String { rawValue }

  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// `flw_…`: a flow session.
public struct FlowID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// `acc_…`: what a successful log-in leaves behind.
public struct AccountID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The `name` of a `[[provider]]` in the configuration: what callers say.
public struct ProviderName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// `cnf_…`: a question to a person whether a client may make a call, and what was answered.
public struct ConfirmationID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// `cor_…`: ties a reply's error to the journal's lines about it.
public struct CorrelationID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}
