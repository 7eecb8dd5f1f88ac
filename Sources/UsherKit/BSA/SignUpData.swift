import UsherClient

extension BSA {
  public enum SignUpData {
    /// The data of a sign-up (SDK documentation, "BSA.SignUpData.UserData"). This type validates
    /// nothing: the daemon validates the data before it sends anything.
    ///
    /// The description omits secrets and personal data.
    public struct UserData: Sendable, Equatable {
      /// The app's bundle identifier. The daemon compares it with its configuration.
      public var appPackage: String
      /// The client key. The daemon compares it with its configuration.
      public var clientKey: String
      /// The version of the app, such as `1.1.1`.
      public var appVersion: String
      /// The push token (FCM); empty if there is none.
      public var token: String
      public var email: String
      public var phoneNumber: String
      /// The person's id; ``BSA/APICaller/checkUserKeyAvailable(userKey:)`` tells whether it is
      /// free.
      public var userKey: String
      public var name: String
      public var authType: Enums.LocalAuthType
      public var os: Enums.OSType
      /// The token from
      /// ``BSA/APICaller/verifyOTPNumber(sendType:sendTarget:otpNumber:clientKey:)``, for the same
      /// ``email`` or ``phoneNumber`` as here.
      public var disposeToken: String
      /// Whether the person agrees to the terms of use.
      public var agreeGccs: Bool
      /// Whether the person agrees to the privacy policy.
      public var agreePerson: Bool
      /// Whether the person agrees to the device information policy.
      public var agreeDevice: Bool

      public init(
        appPackage: String, clientKey: String, appVersion: String, token: String, email: String,
        phoneNumber: String, userKey: String, name: String, authType: Enums.LocalAuthType,
        os: Enums.OSType = .iOS, disposeToken: String, agreeGccs: Bool, agreePerson: Bool,
        agreeDevice: Bool
      ) {
        self.appPackage = appPackage
        self.clientKey = clientKey
        self.appVersion = appVersion
        self.token = token
        self.email = email
        self.phoneNumber = phoneNumber
        self.userKey = userKey
        self.name = name
        self.authType = authType
        self.os = os
        self.disposeToken = disposeToken
        self.agreeGccs = agreeGccs
        self.agreePerson = agreePerson
        self.agreeDevice = agreeDevice
      }
    }
  }
}

extension BSA.SignUpData.UserData: CustomStringConvertible, CustomReflectable {
  public var description: String { "user data for a sign-up, \(authType)" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

extension BSA.SignUpData.UserData {
  /// Returns the params of the daemon's flow `register`.
  ///
  /// - Parameter sendType: The channel of the contact for which ``disposeToken`` was issued; nil if
  ///   unknown.
  func params(verifiedBy sendType: BSA.APICaller.OTPSendType?) -> JSONValue {
    .params([
      "email": .string(email), "phoneNumber": .string(phoneNumber), "userKey": .string(userKey),
      "name": .string(name), "authType": .string(authType.apiValue),
      "agreeGccs": .bool(agreeGccs), "agreePerson": .bool(agreePerson),
      "agreeDevice": .bool(agreeDevice), "verifyBy": .text(sendType?.rawValue),
      "disposeToken": .string(disposeToken), "pushToken": token.isEmpty ? nil : .string(token),
      "appVersion": .string(appVersion), "clientKey": .string(clientKey),
      "appPackage": .string(appPackage),
    ])
  }

  /// Returns the contact of the given channel.
  func contact(_ sendType: BSA.APICaller.OTPSendType) -> ContactTarget {
    ContactTarget(type: sendType, target: sendType == .Email ? email : phoneNumber)
  }
}
