// Types that several steps use.

/// A field of a form in a step.
public struct Field: Codable, Sendable, Equatable {
  /// The name of the field in the input's `fields`.
  public var name: String
  /// The kind of text, for the keyboard and the display of the field; a `password` is hidden.
  public var type: Form
  /// Whether the input must contain the field.
  public var required: Bool
  /// The maximum number of characters; absent if there is none.
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

/// An option in a step that the user can choose.
public struct StepOption: Codable, Sendable, Equatable {
  /// The id of the option, for the input.
  public var id: String
  /// The text that describes the option to the user.
  public var label: String

  public init(id: String, label: String) {
    self.id = id
    self.label = label
  }
}

/// The operation that the user authorizes in a step. PSD2 RTS Art. 5 requires that the payer sees
/// the amount and the payee.
public struct Operation: Codable, Sendable, Equatable {
  /// What the operation does.
  public var summary: String
  /// The amount with its currency.
  public var amount: String
  /// The receiver of the amount.
  public var payee: String

  public init(summary: String, amount: String, payee: String) {
    self.summary = summary
    self.amount = amount
    self.payee = payee
  }
}

extension Field: SchemaDocumented {
  public static let component: SchemaComponent? = .init("Field", "A field of a form.")
}

extension StepOption: SchemaDocumented {
  public static let component: SchemaComponent? = .init("Option", "An option that can be chosen.")
}

extension Operation: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Operation",
    """
    The operation that the user authorizes. PSD2 RTS Art. 5 requires that the payer sees the \
    amount and the payee.
    """)
}
