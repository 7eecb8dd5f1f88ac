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
  static let token = Self(2003, "the token is not known, or over")
  static let channel = Self(2004, "there is no such channel")
  static let full = Self(2005, "the licence has no users left")
  static let notRegistered = Self(2008, "nobody is registered like that")
  static let userKeyTaken = Self(2009, "the user key is taken")
  static let inProgress = Self(2010, "a sign-in is under way")
  static let contactTaken = Self(2019, "the e-mail address or phone number is taken")
  static let authType = Self(3000, "authType is 0, 3 or 4")
  static let wrongNumber = Self(3005, "the number is wrong")
  static let numberOver = Self(3006, "the number is over, used, spent or was never sent")
  static let tooEarly = Self(3006, "it is too early for another number")
  static let tooManyToday = Self(3006, "there are no more numbers for this contact today")
  static let disposeToken = Self(3006, "the disposeToken is over, used or of another contact")
  static let deviceID = Self(3007, "the deviceId is not the registered one")
  static let deviceIDShape = Self(3007, "the deviceId is no UUID")
  static let notLinked = Self(3201, "the app is not linked with this site")
  static let notApproved = Self(5005, "there was no local authentication")
  static let cancelled = Self(5011, "the sign-in was cancelled")
  static let nothingInProgress = Self(5019, "no sign-in is under way")
  static let qrInvalid = Self(5023, "the QR id is not valid")
  static let qrOfOtherApp = Self(5024, "the QR code is of another app")
  static let totpLimit = Self(5026, "there are no more TOTP numbers today")

  /// - Parameter what: The error, like `is missing`.
  static func parameter(_ name: String, _ what: String) -> Self { Self(2002, "\(name) \(what)") }

  static func agreements(_ names: [String]) -> Self {
    Self(3002, "not agreed: \(names.joined(separator: ", "))")
  }

  static func timeOver(_ settings: BSASettings) -> Self {
    Self(settings.timeoutCode, "the time for the sign-in is over")
  }

  static func failed(_ error: any Error) -> Self { Self(2001, "the sandbox failed: \(error)") }

  /// The refusal for a control call, with status 409.
  var asConflict: Refusal { Refusal("\(rtCode)", message, status: 409) }
}
