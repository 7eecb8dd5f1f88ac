public import JSONRPC
public import UsherCore

/// A type that states its own schema, because the schema cannot be derived from the type's
/// `Decodable` conformance.
public protocol SchemaDescribing {
  static var schema: Schema { get }
  /// The schema of the type with descriptions for people; by default ``schema``.
  static var documentedSchema: Schema { get }
  /// A valid value of the type, used while the schema of an enclosing type is derived.
  static var example: Self { get }
}

extension SchemaDescribing {
  public static var documentedSchema: Schema { schema }
}

extension Identifier {
  public static var schema: Schema { .text }
  public static var example: Self { Self("") }
}

extension FlowID: SchemaDescribing {}
extension AccountID: SchemaDescribing {}
extension ProviderName: SchemaDescribing {}
extension CorrelationID: SchemaDescribing {}
extension ConfirmationID: SchemaDescribing {}

extension Timestamp: SchemaDescribing {
  public static var schema: Schema { .string(oneOf: [], format: "date-time") }
  public static var example: Timestamp { Timestamp(milliseconds: 0) }
}

extension WireSecret: SchemaDescribing {
  public static var schema: Schema { .text }
  public static var example: WireSecret { WireSecret("") }
}

extension JSONValue: SchemaDescribing {
  public static var schema: Schema { .anything }
  public static var example: JSONValue { .null }
}

extension Step: SchemaDescribing {
  public static var schema: Schema { form(isDocumented: false) }
  public static var documentedSchema: Schema { form(isDocumented: true) }

  private static func form(isDocumented: Bool) -> Schema {
    .tagged(
      name: "Step",
      Kind.allCases.map { kind in
        let form = SchemaReader.schema(of: kind.form, isDocumented: isDocumented)
        return .init(
          type: kind.rawValue, members: form.members,
          description: isDocumented ? kind.documentation : "")
      })
  }

  public static var example: Step { .wait(.init(for: "")) }
}

extension Schema {
  /// The members of an object; empty if the schema is not one of an object.
  var members: [Member] {
    switch self {
    case .object(let members): members
    case .annotated(let form, _): form.members
    case .anything, .string, .integer, .number, .boolean, .onlyTrue, .array, .map, .tagged,
      .nullable, .either:
      []
    }
  }
}

extension Step.Kind {
  fileprivate var form: any Decodable.Type {
    switch self {
    case .openURL: Step.OpenURL.self
    case .displayCode: Step.DisplayCode.self
    case .enterCode: Step.EnterCode.self
    case .enterPassword: Step.EnterPassword.self
    case .choose: Step.Choose.self
    case .fillForm: Step.FillForm.self
    case .consent: Step.Consent.self
    case .exchangeCredential: Step.ExchangeCredential.self
    case .localAuth: Step.LocalAuth.self
    case .wait: Step.Wait.self
    }
  }
}
