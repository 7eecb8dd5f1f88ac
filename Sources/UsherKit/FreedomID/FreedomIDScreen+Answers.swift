import UsherClient

// The answers that each screen accepts. Texts are submitted as typed: the daemon checks them, and
// refuses a malformed one with the problem `invalid_input`.

extension FreedomIDScreen.LoginMethod {
  public func choose(_ method: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(method.id))
  }

  /// Returns to the accounts, if there are any.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.choose)) }
}

extension FreedomIDScreen.Form {
  /// Submits the form.
  ///
  /// - Parameter values: The values by the names of the fields. A phone number begins with `+`.
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

  /// Requests another code.
  public func resend() -> FreedomIDAnswer { FreedomIDAnswer(.resend) }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.enterCode)) }
}

extension FreedomIDScreen.Home {
  /// The daemon's option id for signing in with another account.
  static let another = "other"

  public func choose(_ account: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(account.id))
  }

  /// The answer that chooses to sign in with another account; the log-in screens follow.
  public func signInWithAnother() -> FreedomIDAnswer { FreedomIDAnswer(.choice(Self.another)) }
}

extension FreedomIDScreen.Fingerprint {
  /// Starts the fingerprint reader.
  public func scan() -> FreedomIDAnswer { FreedomIDAnswer(.biometric) }

  public func enter(passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// Switches to the passcode, if one is set; otherwise the authorization fails.
  public func useAnotherWay() -> FreedomIDAnswer { FreedomIDAnswer(.fallback) }

  /// Returns to the accounts.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Passcode {
  public func enter(_ passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// Returns to the accounts.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Permissions {
  /// Grants only these permissions; at least one of them must not be remembered.
  public func grant(_ permissions: [FreedomIDScreen.Permission]) -> FreedomIDAnswer {
    FreedomIDAnswer(.granted(permissions.map(\.grant.rawValue)))
  }

  /// Grants all of ``permissions``.
  public func grantAll() -> FreedomIDAnswer { grant(permissions) }

  /// Refuses, and returns to the accounts. The second time the authorization fails with
  /// ``FreedomIDError/accessDenied``.
  public func deny() -> FreedomIDAnswer { FreedomIDAnswer(.denied) }
}
