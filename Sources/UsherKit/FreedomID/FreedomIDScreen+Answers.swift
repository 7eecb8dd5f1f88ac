import UsherAPI
import UsherCore

// What each screen can be answered with. Texts are passed on as they were typed: the daemon checks
// them, and what cannot be one comes back as the problem `invalid_input`.

extension FreedomIDScreen.LoginMethod {
  public func choose(_ method: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(method.id))
  }

  /// To the accounts, where there are any.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.choose)) }
}

extension FreedomIDScreen.Form {
  /// - Parameter values: By the fields' names: a phone number begins with `+`.
  public func fill(_ values: [String: String]) -> FreedomIDAnswer {
    FreedomIDAnswer(.form(values.mapValues { Secret($0) }))
  }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.fillForm)) }
}

extension FreedomIDScreen.Password {
  public func enter(_ password: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.password(Secret(password)))
  }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.enterPassword)) }
}

extension FreedomIDScreen.Code {
  public func enter(_ code: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.code(Secret(code), fields: [:]))
  }

  /// Asks for another code.
  public func resend() -> FreedomIDAnswer { FreedomIDAnswer(.resend) }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.enterCode)) }
}

extension FreedomIDScreen.Home {
  /// The daemon's word for it.
  static let another = "other"

  public func choose(_ account: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(account.id))
  }

  /// To the log-in.
  public func signInWithAnother() -> FreedomIDAnswer { FreedomIDAnswer(.choice(Self.another)) }
}

extension FreedomIDScreen.Fingerprint {
  public func scan() -> FreedomIDAnswer { FreedomIDAnswer(.biometric) }

  public func enter(passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// Another way than the finger: to the passcode, where one is set; else the authorization fails.
  public func useAnotherWay() -> FreedomIDAnswer { FreedomIDAnswer(.fallback) }

  /// To the accounts.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Passcode {
  public func enter(_ passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// To the accounts.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Permissions {
  /// Grants these, and nothing else: at least one that is not remembered.
  public func grant(_ permissions: [FreedomIDScreen.Permission]) -> FreedomIDAnswer {
    FreedomIDAnswer(.granted(permissions.map(\.grant.rawValue)))
  }

  /// Grants all of ``permissions``.
  public func grantAll() -> FreedomIDAnswer { grant(permissions) }

  /// Back to the accounts; the second time it is ``FreedomIDError/accessDenied``.
  public func deny() -> FreedomIDAnswer { FreedomIDAnswer(.denied) }
}
