import JSONRPC
import UsherAPI
import UsherCore

// "Information saved after SignUp" of the seed.

extension BSA {
  /// What the daemon keeps of a sign-up. It prints without the push token.
  public struct Registration: Sendable, Equatable {
    /// Our own: the daemon's name of the person's account, `acc_…`.
    public let account: String
    public let userKey: String?
    public let deviceID: String?
    /// Nil where none was given.
    public let fcmToken: String?
    public let localAuthType: Enums.LocalAuthType?
  }

  /// Asks the daemon for the registration: what ``loadUserKey()`` and its like give from then on.
  ///
  /// Of several it is the one that was signed up here, else the newest.
  ///
  /// - Returns: Nil where nobody has registered.
  @discardableResult
  public static func refresh() async throws(BSAError) -> Registration? {
    try await service.refresh()
  }

  /// Of the registration that was last seen here; nil before ``refresh()`` or a sign-up of this
  /// process, as nothing is asked.
  public static func loadDeviceID() -> String? { service.known?.deviceID }

  /// As ``loadDeviceID()``: the token of FCM, where one was given at sign-up.
  public static func loadFCMToken() -> String? { service.known?.fcmToken }

  /// As ``loadDeviceID()``: the person's id.
  public static func loadUserKey() -> String? { service.known?.userKey }

  /// As ``loadDeviceID()``: how the person is known to the device.
  public static func loadLocalAuthType() -> Enums.LocalAuthType? { service.known?.localAuthType }

  /// The secret never leaves the daemon, which makes the codes of it.
  @available(*, unavailable, message: "the secret stays with usherd: totpCode() gives codes of it")
  public static func loadTOTPSecretKey() -> String? { nil }
}

// MARK: - Made of what the daemon says

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

  /// - Throws: ``KitError`` for a flow that names no account.
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
