/// A refusal of BSA: an rtCode other than 0.
struct BSARefusal: Error, Hashable {
  let rtCode: Int
  /// The `rtMsg`, which never contains a secret.
  let message: String

  init(_ rtCode: Int, _ message: String) {
    self.rtCode = rtCode
    self.message = message
  }

  static let clientKey = Self(2000, "the client key is not known")
  static let token = Self(2003, "the token is unknown or has expired")
  static let channel = Self(2004, "there is no such channel")
  static let full = Self(2005, "the licence has reached its number of users")
  static let notRegistered = Self(2008, "no registration matches")
  static let userKeyTaken = Self(2009, "the user key is taken")
  static let inProgress = Self(2010, "a sign-in is already in progress")
  static let contactTaken = Self(2019, "the e-mail address or phone number is taken")
  static let authType = Self(3000, "authType must be 0, 3 or 4")
  static let wrongNumber = Self(3005, "the OTP or TOTP number is wrong")
  static let numberOver = Self(3006, "the OTP number is unknown, expired, used or out of attempts")
  static let tooEarly = Self(3006, "another OTP number cannot be sent yet")
  static let tooManyToday = Self(3006, "no more OTP numbers can be sent to this contact today")
  static let disposeToken = Self(3006, "the disposeToken is expired, used or for another contact")
  static let deviceID = Self(3007, "the deviceId is not the registered one")
  static let deviceIDShape = Self(3007, "the deviceId is not a UUID")
  static let notLinked = Self(3201, "the app is not linked with this site")
  static let notApproved = Self(5005, "the user did not authenticate on the device")
  static let cancelled = Self(5011, "the sign-in was cancelled")
  static let nothingInProgress = Self(5019, "no sign-in is in progress")
  static let qrInvalid = Self(5023, "the QR id is not valid")
  static let qrOfOtherApp = Self(5024, "the QR code is for another app")
  static let totpLimit = Self(5026, "the TOTP numbers for today are used up")

  /// - Parameter what: The error, like `is missing`.
  static func parameter(_ name: String, _ what: String) -> Self { Self(2002, "\(name) \(what)") }

  static func agreements(_ names: [String]) -> Self {
    Self(3002, "required agreements are missing: \(names.joined(separator: ", "))")
  }

  static func timeOver(_ settings: BSABackendSettings) -> Self {
    Self(settings.timeoutCode, "the sign-in timed out")
  }

  static func failed(_ error: any Error) -> Self { Self(2001, "the sandbox failed: \(error)") }

  /// The refusal for a control call, with status 409.
  var asConflict: OAuthError { OAuthError("\(rtCode)", message, status: 409) }
}
