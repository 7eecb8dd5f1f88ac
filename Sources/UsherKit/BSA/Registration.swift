import UsherClient

// The values that are saved after a sign-up (SDK documentation, "Information saved after SignUp").

extension BSA {
  /// A person's registration at BSA, as the daemon stores it. Its description omits the push token.
  public struct Registration: Sendable, Equatable {
    /// The daemon's id of the person's account, `acc_…`. Not in the SDK.
    public let account: String
    public let userKey: String?
    public let deviceID: String?
    /// The push token of Firebase Cloud Messaging (FCM); nil if the sign-up had none.
    public let fcmToken: String?
    public let localAuthType: Enums.LocalAuthType?
  }

  /// Reads the registration from the daemon. ``loadUserKey()`` and the other `load` calls return
  /// its values from then on.
  ///
  /// If there are several registrations, this reads the one that this process signed up or read
  /// last, or else the newest.
  ///
  /// - Returns: The registration; nil if no person is registered.
  @discardableResult
  public static func refresh() async throws(BSAError) -> Registration? {
    try await call { try await $0.refresh() }
  }

  /// Returns the device id of the saved registration; nil if no person is registered.
  ///
  /// This and the other `load` calls return the values that this process received last, from a
  /// sign-up or from the daemon. If it has none, the first `load` call asks the daemon and blocks
  /// its thread meanwhile, usually for less than a millisecond, at most for a second. If the daemon
  /// does not answer, the result is nil, and the next call asks again. ``refresh()`` does not
  /// block, and also sees what other programs have changed.
  public static func loadDeviceID() -> String? { service.savedRegistration()?.deviceID }

  /// Returns the push token (FCM) of the saved registration, as ``loadDeviceID()`` does; nil also
  /// if the sign-up had none.
  public static func loadFCMToken() -> String? { service.savedRegistration()?.fcmToken }

  /// Returns the person's id at BSA, as ``loadDeviceID()`` does.
  public static func loadUserKey() -> String? { service.savedRegistration()?.userKey }

  /// Returns the saved registration's method of local authentication, as ``loadDeviceID()`` does.
  public static func loadLocalAuthType() -> Enums.LocalAuthType? {
    service.savedRegistration()?.localAuthType
  }

  /// Unavailable: the secret for TOTP codes never leaves the daemon, which computes the codes.
  @available(*, unavailable, message: "the secret stays in usherd: call totpCode() for codes")
  public static func loadTOTPSecretKey() -> String? { nil }
}

// MARK: - Conversions from the daemon's types

extension BSA.Registration {
  init(_ account: Account) {
    self.account = account.id.rawValue
    userKey = account.attributes["userKey"]?.stringValue
    deviceID = account.attributes["deviceId"]?.stringValue
    fcmToken = account.attributes["pushToken"]?.stringValue
    localAuthType = account.attributes["localAuthType"]?.stringValue.flatMap {
      BSA.Enums.LocalAuthType(rawValue: $0)
    }
  }

  /// Creates the registration from the result of a sign-up flow.
  ///
  /// - Throws: ``KitError`` if the flow's result names no account.
  init(_ flow: Flow, _ data: BSA.SignUpData.UserData) throws {
    guard let account = flow.result?["account"]?.stringValue else {
      throw KitError(.unexpected, "the sign-up ended without an account")
    }
    self.account = account
    userKey = flow.result?["userKey"]?.stringValue
    deviceID = flow.result?["deviceId"]?.stringValue
    fcmToken = data.token.isEmpty ? nil : data.token
    localAuthType = data.authType
  }
}

extension BSA.Registration: CustomStringConvertible, CustomReflectable {
  public var description: String { "registration of \(account)" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
