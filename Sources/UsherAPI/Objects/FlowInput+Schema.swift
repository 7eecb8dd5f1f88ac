/// One form of the input that answers a step, for the OpenRPC document.
struct InputForm {
  var description: String
  var members: [Schema.Member]

  init(_ description: String, _ members: [Schema.Member]) {
    self.description = description
    self.members = members
  }
}

extension FlowInput {
  /// The schema of the member `input` of `flow.submit`, for the OpenRPC document. The daemon itself
  /// checks an input with ``init(_:)`` and against the flow's step.
  static var documentedSchema: Schema {
    let forms = Step.Kind.allCases.flatMap { kind in
      kind.inputForms.map { form in
        Schema.input(
          types: [kind.rawValue], "Always `\(kind.rawValue)`.", form.members, form.description)
      }
    }
    return .either(forms + [back])
  }

  private static var back: Schema {
    .input(
      types: Step.Kind.allCases.map(\.rawValue), "The type of the current step.",
      [.flag("back", "Go back.")],
      "Returns to the previous step of a sign-in. A step without a previous one refuses it.")
  }
}

extension Schema {
  fileprivate static func input(
    types: [String], _ meaning: String, _ members: [Member], _ description: String
  ) -> Schema {
    let type = Member("type", .string(oneOf: types, format: nil), meaning)
    return .annotated(.object([type] + members), .description(description))
  }
}

extension Schema.Member {
  fileprivate static func flag(_ name: String, _ description: String) -> Schema.Member {
    .init(name, .onlyTrue, description)
  }

  fileprivate static func fields(isRequired: Bool) -> Schema.Member {
    .init(
      "fields", .map(of: .text), "The texts that the user entered, by the name of the field.",
      isRequired: isRequired)
  }
}

extension Step.Kind {
  /// The forms of the input that answers the step; empty if the step takes no input.
  var inputForms: [InputForm] {
    switch self {
    case .openURL: [.redirect, .resend, .alternative, .confirmed]
    case .displayCode: []
    case .wait: [.resend, .alternative, .confirmed]
    case .enterCode: [.code, .resend, .alternative]
    case .enterPassword: [.password, .alternative]
    case .choose: [.choice]
    case .fillForm: [.form]
    case .consent: [.granted, .denied]
    case .exchangeCredential: [.exchanged, .exchangeFailed]
    case .localAuth: [.passcode, .biometric, .cancelLocalAuth, .fallback]
    }
  }
}

extension InputForm {
  fileprivate static let redirect = InputForm(
    "Submits the URL to which the browser was redirected.",
    [.init("redirectURL", .text, "The whole URL, with its query. It is a secret.")])

  fileprivate static let code = InputForm(
    "Submits the code.",
    [
      .init("code", .text, "The code as the user entered it. It is a secret."),
      .fields(isRequired: false),
    ])

  fileprivate static let resend = InputForm(
    "Asks for another code, notification or page. Accepted from the step's `resendAt` on.",
    [.flag("resend", "Send another one.")])

  fileprivate static let confirmed = InputForm(
    "Says that the user has confirmed. Accepted if the step's `takesConfirmation` is true.",
    [.flag("confirmed", "The user has confirmed on the other device or page.")])

  fileprivate static let password = InputForm(
    "Submits the password.",
    [.init("password", .text, "The password as the user entered it. It is a secret.")])

  fileprivate static let alternative = InputForm(
    "Chooses another method instead of this one.",
    [.init("alternative", .text, "The `id` of one of the step's `alternatives`.")])

  fileprivate static let choice = InputForm(
    "Chooses an option.", [.init("id", .text, "The `id` of one of the step's `options`.")])

  fileprivate static let form = InputForm(
    "Submits the fields of the form.", [.fields(isRequired: true)])

  fileprivate static let granted = InputForm(
    "Grants some or all of the requested data.",
    [.init("granted", .array(of: .text), "The `id` of each granted one of the step's `grants`.")])

  fileprivate static let denied = InputForm(
    "Denies the client all data.", [.flag("denied", "Deny.")])

  fileprivate static let exchanged = InputForm(
    "Submits what the app's backend received for the credential.",
    [
      .init(
        "success", .map(of: .either([.text, .number])),
        "The members of the token reply, such as `accessToken`. They are secrets.")
    ])

  fileprivate static var exchangeFailed: InputForm {
    let reason = Schema.Member("reason", .text, "The reason, as a word or a short sentence.")
    return .init(
      "Says that the app's backend could not redeem the credential.",
      [.init("failure", .object([reason]), "Why the exchange failed.")])
  }

  fileprivate static let passcode = InputForm(
    "Submits the passcode.",
    [.init("passcode", .text, "The passcode as the user entered it. It is a secret.")])

  fileprivate static let biometric = InputForm(
    "Starts the fingerprint reader.", [.flag("biometric", "Scan a finger.")])

  fileprivate static let cancelLocalAuth = InputForm(
    "Gives the authentication up.", [.flag("cancel", "Give up.")])

  fileprivate static let fallback = InputForm(
    "Asks for the passcode instead of the fingerprint.",
    [.flag("fallback", "Use the passcode.")])
}
