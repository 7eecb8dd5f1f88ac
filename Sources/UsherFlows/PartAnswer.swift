import UsherAPI

/// What the engine has to do after a part of a flow, such as the verification of a contact, has
/// handled an event: an ``Answer`` whose success is a value for the flow that contains the part.
enum PartAnswer<Call: Sendable & Equatable, Value: Sendable & Equatable>: InputRefusing, Sendable,
  Equatable
{
  case proceed([Effect<Call>])
  /// The part has succeeded; the flow continues with the value.
  case finish(Value)
  case fail(Failure)
  case refuse(field: String, message: String)
  case ignore

  /// Returns the answer of the flow that contains the part.
  func flowAnswer(
    finished: (Value) -> Answer<Call>, failed: (Failure) -> Answer<Call> = { .fail($0) }
  ) -> Answer<Call> {
    switch self {
    case .proceed(let effects): .proceed(effects)
    case .finish(let value): finished(value)
    case .fail(let failure): failed(failure)
    case .refuse(let field, let message): .refuse(field: field, message: message)
    case .ignore: .ignore
    }
  }
}
