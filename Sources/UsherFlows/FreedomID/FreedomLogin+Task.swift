import UsherAPI
import UsherCore

extension FreedomLogin.Task {
  func call(_ typed: Secret?, _ device: String) -> FreedomDeviceCall {
    let typed = typed ?? Secret("")
    return switch self {
    case .send(let name): .otp(phone: name.text.unsealed(), device: device)
    case .resend(let challenge): .resend(challenge: challenge.id, device: device)
    case .password(let name): .password(name, password: typed, device: device)
    case .code(let challenge):
      switch challenge.purpose {
      case .twoFactor: .twoFactor(challenge: challenge.id, code: typed, device: device)
      case .otp, .sca: .otpCheck(challenge: challenge.id, code: typed, device: device)
      }
    }
  }

  /// The phase of the log-in before this task began. A failure returns to it.
  var origin: FreedomLogin.Phase {
    switch self {
    case .send(let name): .form(name.method)
    case .password(let name): .password(name)
    case .resend(let challenge), .code(let challenge): .code(challenge)
    }
  }

  /// Whether the task makes Freedom ID send a code to the user. The other tasks carry user input
  /// that is not stored.
  var sends: Bool {
    switch self {
    case .send, .resend: true
    case .password, .code: false
    }
  }

  /// The message that Freedom ID sends to the user, with an article.
  var message: String {
    switch self {
    case .send: "an SMS"
    case .resend(let challenge) where challenge.channel == "sms": "an SMS"
    case .resend, .password, .code: "a code"
    }
  }

  /// The phone number or e-mail address of the user who signs in.
  var name: FreedomName {
    switch self {
    case .send(let name), .password(let name): name
    case .resend(let challenge), .code(let challenge): challenge.name
    }
  }

  var words: String {
    switch self {
    case .send, .resend: "the code to be sent"
    case .password: "the password check"
    case .code: "the code check"
    }
  }
}

extension FreedomDeviceCall {
  /// The password or code in the request, which is never stored; nil if the request has none.
  var secret: Secret? {
    switch self {
    case .password(_, let password, device: _): password
    case .otpCheck(challenge: _, let code, device: _),
      .twoFactor(challenge: _, let code, device: _):
      code
    case .accounts, .otp, .resend, .consent, .renewal, .untying: nil
    }
  }
}
