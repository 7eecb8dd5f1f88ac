import UsherCore

/// An answer that can refuse a user's input: the flow's state does not change, and `flow.submit`
/// fails with `invalid_input`.
protocol InputRefusing {
  static func refuse(field: String, message: String) -> Self
}

extension FlowAnswer: InputRefusing {}

// Refusals that several flows share.
extension InputRefusing {
  static var noPreviousStep: Self {
    .refuse(field: "input.back", message: "there is no previous step")
  }

  /// Refuses to go back after an authorization code was handed to the app.
  static var codeIsHandedOver: Self {
    .refuse(field: "input.back", message: "the code cannot be taken back")
  }

  static var notAnOption: Self {
    .refuse(field: "input.id", message: "input.id is not one of the options")
  }

  /// Refuses a URL that is not the app's page to which a provider sends the user back.
  static func notAReturn(to returnURL: String) -> Self {
    .refuse(
      field: "input.redirectURL", message: "this is not a URL that begins with \(returnURL)")
  }

  /// Returns the refusal of a code that does not have exactly this number of digits; nil if it has.
  static func refusal(of code: Secret, digits: Int) -> Self? {
    let text = code.revealed().utf8
    guard text.count != digits || !text.allSatisfy(\.isDigit) else { return nil }
    return .refuse(field: "input.code", message: "input.code must be \(digits) digits 0 to 9")
  }

  /// Returns the refusal of the first field that the step does not ask for; nil if there is none.
  static func refusal(of fields: [String: Secret], otherThan known: Set<String> = []) -> Self? {
    fields.keys.filter { !known.contains($0) }.min().map {
      .refuse(field: "input.fields.\($0)", message: "this is not a field of the step")
    }
  }
}
