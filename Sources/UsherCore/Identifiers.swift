/// An identifier of one kind of object. Each kind has its own type, so that a flow's id cannot be
/// used as an account's. Coders encode an identifier as its text.
public protocol Identifier: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension Identifier {
  public init(_ text: String) { self.init(rawValue: text) }

  public var description: String { rawValue }
}

/// The id of a flow, such as a sign-in: `flw_…`.
public struct FlowID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The id of an account, which a successful sign-in creates: `acc_…`.
public struct AccountID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of a provider that callers use: the `name` of a `[[provider]]` in the configuration.
public struct ProviderName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The id of a confirmation, in which a person is asked whether a client may make a call: `cnf_…`.
public struct ConfirmationID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// An id that connects the error in a reply with the journal's messages about it: `cor_…`.
public struct CorrelationID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}
