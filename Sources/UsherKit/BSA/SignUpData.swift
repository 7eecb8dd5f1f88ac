import JSONRPC
import UsherCore

extension BSA {
  public enum SignUpData {
    /// What a sign-up is made of (seed, "BSA.SignUpData.UserData"). Nothing is checked here: that is
    /// done by the daemon, before anything is sent.
    ///
    /// It prints without what is secret or the person's.
    public struct UserData: Sendable, Equatable {
      /// The app's bundle identifier. The daemon compares it with the configured one.
      public var appPackage: String
      /// The daemon compares it with the configured one.
      public var clientKey: String
      /// As `1.1.1`.
      public var appVersion: String
      /// Of FCM; empty where there is none.
      public var token: String
      public var email: String
      public var phoneNumber: String
      /// The person's id, free by ``BSA/APICaller/checkUserKeyAvailable(userKey:)``.
      public var userKey: String
      public var name: String
      public var authType: Enums.LocalAuthType
      public var os: Enums.OSType
      /// Of ``BSA/APICaller/verifyOTPNumber(sendType:sendTarget:otpNumber:clientKey:)``, for
      /// ``email`` or ``phoneNumber`` as they stand here.
      public var disposeToken: String
      /// The terms of use.
      public var agreeGccs: Bool
      /// The privacy policy.
      public var agreePerson: Bool
      /// The device information policy.
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
  /// - Parameter sendType: How the number was sent that ``disposeToken`` was given for; nil where
  ///   that is not known.
  func params(verifiedBy sendType: BSA.APICaller.OTPSendType?) -> JSONValue {
    .params([
      "email": .string(email), "phoneNumber": .string(phoneNumber), "userKey": .string(userKey),
      "name": .string(name), "authType": .string(authType.word),
      "agreeGccs": .bool(agreeGccs), "agreePerson": .bool(agreePerson),
      "agreeDevice": .bool(agreeDevice), "verifyBy": .text(sendType?.rawValue),
      "disposeToken": .string(disposeToken), "pushToken": token.isEmpty ? nil : .string(token),
      "appVersion": .string(appVersion), "clientKey": .string(clientKey),
      "appPackage": .string(appPackage),
    ])
  }

  /// What the number was sent to.
  func contact(_ sendType: BSA.APICaller.OTPSendType) -> BSAContact {
    BSAContact(type: sendType, target: sendType == .Email ? email : phoneNumber)
  }
}
