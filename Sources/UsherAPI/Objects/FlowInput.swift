public import JSONRPC
public import UsherCore

/// An answer to a flow's step. Text that a person entered is a ``Secret``: it occurs in inputs and
/// in effects of flows, but never in stored state.
public enum FlowInput: Sendable, Equatable {
  case redirect(url: Secret)
  case code(Secret, fields: [String: Secret])
  /// Asks for another code, notification or page. The value is the kind of the current step.
  case resend(at: Step.Kind)
  case password(Secret)
  /// Chooses another method, by the id of one of the step's alternatives.
  case alternative(String, at: Step.Kind)
  /// Says that the user has confirmed on another device or page. The value is the kind of the
  /// current step.
  case confirmed(at: Step.Kind)
  case choice(String)
  case form([String: Secret])
  case granted([String])
  case denied
  case exchanged([String: Secret])
  case exchangeFailed(reason: String)
  case passcode(Secret)
  case biometric
  case cancelLocalAuth
  case fallback
  /// Returns to the previous step of a sign-in. The value is the kind of the current step.
  case back(Step.Kind)

  /// The kind of the step that the input answers.
  public var kind: Step.Kind {
    switch self {
    case .redirect: .openURL
    case .code: .enterCode
    case .password: .enterPassword
    case .choice: .choose
    case .form: .fillForm
    case .granted, .denied: .consent
    case .exchanged, .exchangeFailed: .exchangeCredential
    case .passcode, .biometric, .cancelLocalAuth, .fallback: .localAuth
    case .resend(let kind), .alternative(_, let kind), .confirmed(let kind), .back(let kind): kind
    }
  }

  /// Asks for another code.
  public static var resend: FlowInput { .resend(at: .enterCode) }

  /// Chooses another method instead of a password.
  public static func alternative(_ id: String) -> FlowInput { .alternative(id, at: .enterPassword) }
}

extension FlowInput {
  /// Creates an input from its JSON form, `{"type":…, …}`.
  ///
  /// - Throws: `invalidInput` with the field that is missing, unknown or of the wrong type.
  public init(_ json: JSONValue) throws(UsherError) {
    var reader = try InputReader(json)
    let kind = try reader.kind()
    if try reader.flag("back") {
      self = .back(kind)
    } else if let change = try FlowInput(changing: kind, &reader) {
      self = change
    } else {
      self = try FlowInput(answering: kind, &reader)
    }
    try reader.finish()
  }

  /// Reads an input that replaces or settles the challenge of a step instead of answering it; nil
  /// if the input is none.
  private init?(changing kind: Step.Kind, _ reader: inout InputReader) throws(UsherError) {
    switch kind {
    case .enterCode, .enterPassword, .openURL, .wait: break
    case .displayCode, .choose, .fillForm, .consent, .exchangeCredential, .localAuth: return nil
    }
    if kind != .enterPassword, try reader.flag("resend") {
      self = .resend(at: kind)
    } else if let id = try reader.text("alternative") {
      self = .alternative(id, at: kind)
    } else if [.openURL, .wait].contains(kind), try reader.flag("confirmed") {
      self = .confirmed(at: kind)
    } else {
      return nil
    }
  }

  private init(answering kind: Step.Kind, _ reader: inout InputReader) throws(UsherError) {
    switch kind {
    case .openURL: self = .redirect(url: try reader.secret("redirectURL"))
    case .enterCode:
      let code = try reader.secret("code")
      // A field that is null counts as left out: the flow reports it as its provider does.
      self = .code(code, fields: try reader.secrets("fields", or: [:], ignoresNull: true))
    case .enterPassword: self = .password(try reader.secret("password"))
    case .choose: self = .choice(try reader.requiredText("id"))
    case .fillForm: self = .form(try reader.secrets("fields", or: nil))
    case .consent:
      self = try reader.flag("denied") ? .denied : .granted(try reader.texts("granted"))
    case .exchangeCredential: self = try FlowInput(exchange: &reader)
    case .localAuth: self = try FlowInput(localAuth: &reader)
    case .displayCode: throw reader.wrong("type", "is a step that takes no input")
    case .wait:
      throw reader.wrong("type", "is a step that takes only resend, alternative or confirmed")
    }
  }

  private init(exchange reader: inout InputReader) throws(UsherError) {
    if reader.has("failure") {
      self = .exchangeFailed(reason: try reader.onlyText("reason", of: "failure"))
    } else {
      self = .exchanged(try reader.secrets("success", or: nil, acceptsNumbers: true))
    }
  }

  private init(localAuth reader: inout InputReader) throws(UsherError) {
    if try reader.flag("biometric") {
      self = .biometric
    } else if try reader.flag("cancel") {
      self = .cancelLocalAuth
    } else if try reader.flag("fallback") {
      self = .fallback
    } else {
      self = .passcode(try reader.secret("passcode"))
    }
  }

  /// The input in the JSON form that a client sends.
  public var json: JSONValue {
    var members = self.members
    members["type"] = .string(kind.rawValue)
    return .object(members)
  }

  private var members: [String: JSONValue] {
    switch self {
    case .redirect(let url): ["redirectURL": .string(url.revealed())]
    case .code(let code, let fields):
      fields.isEmpty
        ? ["code": .string(code.revealed())]
        : ["code": .string(code.revealed()), "fields": .revealing(fields)]
    case .resend: ["resend": true]
    case .password(let password): ["password": .string(password.revealed())]
    case .alternative(let id, _): ["alternative": .string(id)]
    case .confirmed: ["confirmed": true]
    case .choice(let id): ["id": .string(id)]
    case .form(let fields): ["fields": .revealing(fields)]
    case .granted(let grants): ["granted": .array(grants.map { .string($0) })]
    case .denied: ["denied": true]
    case .exchanged(let fields): ["success": .revealing(fields)]
    case .exchangeFailed(let reason): ["failure": ["reason": .string(reason)]]
    case .passcode(let passcode): ["passcode": .string(passcode.revealed())]
    case .biometric: ["biometric": true]
    case .cancelLocalAuth: ["cancel": true]
    case .fallback: ["fallback": true]
    case .back: ["back": true]
    }
  }
}

extension JSONValue {
  fileprivate static func revealing(_ fields: [String: Secret]) -> JSONValue {
    .object(fields.mapValues { .string($0.revealed()) })
  }
}
