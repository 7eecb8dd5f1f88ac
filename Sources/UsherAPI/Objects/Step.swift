/// The current step of a flow, which an app shows to the user and answers with `flow.submit`.
///
/// An app that can render all steps can run every flow of every provider.
public enum Step: Sendable, Equatable {
  case openURL(OpenURL)
  case displayCode(DisplayCode)
  case enterCode(EnterCode)
  case enterPassword(EnterPassword)
  case choose(Choose)
  case fillForm(FillForm)
  case consent(Consent)
  case exchangeCredential(ExchangeCredential)
  case localAuth(LocalAuth)
  case wait(Wait)

  /// The type of a step: the member `type` of the step and of the input that answers it.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case openURL, displayCode, enterCode, enterPassword, choose, fillForm, consent
    case exchangeCredential, localAuth, wait
  }

  public var kind: Kind {
    switch self {
    case .openURL: .openURL
    case .displayCode: .displayCode
    case .enterCode: .enterCode
    case .enterPassword: .enterPassword
    case .choose: .choose
    case .fillForm: .fillForm
    case .consent: .consent
    case .exchangeCredential: .exchangeCredential
    case .localAuth: .localAuth
    case .wait: .wait
    }
  }
}

extension Step: Codable {
  private enum Discriminator: String, CodingKey { case type }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Discriminator.self)
    switch try container.decode(Kind.self, forKey: .type) {
    case .openURL: self = .openURL(try OpenURL(from: decoder))
    case .displayCode: self = .displayCode(try DisplayCode(from: decoder))
    case .enterCode: self = .enterCode(try EnterCode(from: decoder))
    case .enterPassword: self = .enterPassword(try EnterPassword(from: decoder))
    case .choose: self = .choose(try Choose(from: decoder))
    case .fillForm: self = .fillForm(try FillForm(from: decoder))
    case .consent: self = .consent(try Consent(from: decoder))
    case .exchangeCredential: self = .exchangeCredential(try ExchangeCredential(from: decoder))
    case .localAuth: self = .localAuth(try LocalAuth(from: decoder))
    case .wait: self = .wait(try Wait(from: decoder))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Discriminator.self)
    try container.encode(kind, forKey: .type)
    switch self {
    case .openURL(let step): try step.encode(to: encoder)
    case .displayCode(let step): try step.encode(to: encoder)
    case .enterCode(let step): try step.encode(to: encoder)
    case .enterPassword(let step): try step.encode(to: encoder)
    case .choose(let step): try step.encode(to: encoder)
    case .fillForm(let step): try step.encode(to: encoder)
    case .consent(let step): try step.encode(to: encoder)
    case .exchangeCredential(let step): try step.encode(to: encoder)
    case .localAuth(let step): try step.encode(to: encoder)
    case .wait(let step): try step.encode(to: encoder)
    }
  }
}
