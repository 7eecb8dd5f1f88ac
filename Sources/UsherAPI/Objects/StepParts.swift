// What the members of steps are made of.

/// One thing to ask for.
public struct Field: Codable, Sendable, Equatable {
  public var name: String
  public var type: Form
  public var required: Bool
  public var maxLength: Int?

  public enum Form: String, Codable, Sendable, CaseIterable {
    case text, email, phone, password, date
  }

  public init(name: String, type: Form, required: Bool, maxLength: Int? = nil) {
    self.name = name
    self.type = type
    self.required = required
    self.maxLength = maxLength
  }
}

/// One of several.
public struct Option: Codable, Sendable, Equatable {
  public var id: String
  public var label: String

  public init(id: String, label: String) {
    self.id = id
    self.label = label
  }
}

/// What is being authorised: the payer sees amount and payee (PSD2 RTS Art. 5).
public struct Operation: Codable, Sendable, Equatable {
  public var summary: String
  public var amount: String
  public var payee: String

  public init(summary: String, amount: String, payee: String) {
    self.summary = summary
    self.amount = amount
    self.payee = payee
  }
}
