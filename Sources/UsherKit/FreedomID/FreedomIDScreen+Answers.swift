import UsherClient

// The answers that each screen accepts. Text is submitted as typed: the daemon validates it, and
// refuses malformed text with the problem `invalid_input`.

extension FreedomIDScreen.LoginMethod {
  public func choose(_ method: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(method.id))
  }

  /// Returns to the choice of an account, if there are any accounts.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.choose)) }
}

extension FreedomIDScreen.Form {
  /// Submits the values of the form's fields.
  ///
  /// - Parameter values: The values by the names of the fields. A phone number begins with `+`.
  public func fill(_ values: [String: String]) -> FreedomIDAnswer {
    FreedomIDAnswer(.form(values.mapValues { Secret($0) }))
  }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.fillForm)) }
}

extension FreedomIDScreen.Password {
  /// Submits the password, which has 1 to 256 characters.
  public func enter(_ password: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.password(Secret(password)))
  }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.enterPassword)) }
}

extension FreedomIDScreen.Code {
  /// Submits the code, which has exactly ``FreedomIDScreen/Code/digits`` digits.
  public func enter(_ code: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.code(Secret(code), fields: [:]))
  }

  /// The answer that requests another code.
  public func resend() -> FreedomIDAnswer { FreedomIDAnswer(.resend) }

  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.back(.enterCode)) }
}

extension FreedomIDScreen.Home {
  /// The daemon's option id of the choice to sign in with another account.
  static let another = "other"

  public func choose(_ account: FreedomIDScreen.Choice) -> FreedomIDAnswer {
    FreedomIDAnswer(.choice(account.id))
  }

  /// The answer that chooses to sign in with another account; the log-in screens follow.
  public func signInWithAnother() -> FreedomIDAnswer { FreedomIDAnswer(.choice(Self.another)) }
}

extension FreedomIDScreen.Fingerprint {
  /// The answer that starts the fingerprint reader.
  public func scan() -> FreedomIDAnswer { FreedomIDAnswer(.biometric) }

  /// Submits the passcode, which has 1 to 128 characters.
  public func enter(passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// Switches to the passcode if one is set; otherwise the authorization fails.
  public func useAnotherWay() -> FreedomIDAnswer { FreedomIDAnswer(.fallback) }

  /// Returns to the choice of an account.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Passcode {
  /// Submits the passcode, which has 1 to 128 characters.
  public func enter(_ passcode: String) -> FreedomIDAnswer {
    FreedomIDAnswer(.passcode(Secret(passcode)))
  }

  /// Returns to the choice of an account.
  public func back() -> FreedomIDAnswer { FreedomIDAnswer(.cancelLocalAuth) }
}

extension FreedomIDScreen.Permissions {
  /// Grants only these of the requested permissions. At least one of them must be new to the app.
  public func grant(_ permissions: [FreedomIDScreen.Permission]) -> FreedomIDAnswer {
    FreedomIDAnswer(.granted(permissions.map(\.grant.rawValue)))
  }

  /// Grants all of the requested ``permissions``.
  public func grantAll() -> FreedomIDAnswer { grant(permissions) }

  /// Refuses all permissions and returns to the choice of an account. If the person refuses a
  /// second time, the authorization fails with ``FreedomIDError/accessDenied``.
  public func deny() -> FreedomIDAnswer { FreedomIDAnswer(.denied) }
}
