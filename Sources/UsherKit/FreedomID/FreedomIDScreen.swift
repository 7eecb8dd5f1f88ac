public import FoundationEssentials

/// A screen that the app shows during an authorization (SDK documentation, "Authorization Flow").
///
/// The methods of a screen create the answers that it accepts. Every screen also accepts
/// ``FreedomIDAnswer/cancel`` and ``FreedomIDAnswer/stay``.
public enum FreedomIDScreen: Sendable, Equatable {
  /// No input is needed, because the daemon waits, for example for Freedom ID: answer
  /// ``FreedomIDAnswer/stay``.
  case waiting(Waiting)
  /// The choice of a log-in method ("Authentication Screen Interaction").
  case loginMethod(LoginMethod)
  /// The input of the phone number or the e-mail address.
  case form(Form)
  /// The input of the person's password at Freedom ID.
  case password(Password)
  /// The input of a code from an SMS, or of the second factor.
  case code(Code)
  /// The choice of an account that is linked to this device ("Home Screen Interaction").
  case home(Home)
  /// The scan of a fingerprint at this machine.
  case fingerprint(Fingerprint)
  /// The input of usherd's passcode, if a fingerprint cannot be used.
  case passcode(Passcode)
  /// The decision on the requested grants ("Request for Permissions").
  case permissions(Permissions)
}

extension FreedomIDScreen {
  public struct Waiting: Sendable, Equatable {
    /// What the daemon waits for, as text for the person: `the accounts tied to this device`.
    public let reason: String
  }

  /// A log-in method or an account that the person can choose.
  public struct Choice: Sendable, Equatable {
    /// The daemon's id of the account, or the name of the method.
    public let id: String
    /// The name of the account or method to show; phone numbers and addresses are masked.
    public let label: String
  }

  public struct LoginMethod: Sendable, Equatable {
    /// The available methods, with the ids `phoneOTP`, `emailPassword`, `phonePassword`.
    public let methods: [Choice]
  }

  public struct Form: Sendable, Equatable {
    public let fields: [Field]
  }

  public struct Field: Sendable, Equatable {
    public enum Kind: String, Sendable, Equatable, CaseIterable {
      case text, email, phone, password, date
    }

    /// The name of the field, `phone` or `email`: the key in ``Form/fill(_:)``.
    public let name: String
    public let kind: Kind
    public let isRequired: Bool
    /// The maximum length of the input in characters; nil if there is none.
    public let maxLength: Int?
  }

  public struct Password: Sendable, Equatable {}

  public struct Code: Sendable, Equatable {
    /// Whether the code is the second factor, after a correct password or code.
    public let isSecondFactor: Bool
    /// The channel by which the person gets the code: `sms`, `email`, `totp`, …
    public let channel: String
    /// The phone number or e-mail address that the code was sent to, masked.
    public let maskedTarget: String
    /// The number of digits of the code; nil if it is unknown.
    public let digits: Int?
    /// The time at which the code expires.
    public let expiresAt: Date
    /// The time from which ``resend()`` is accepted.
    public let resendAt: Date
    /// The number of attempts that the person has left, as counted by Freedom ID; nil if it is
    /// unknown.
    public let attemptsLeft: Int?
  }

  public struct Home: Sendable, Equatable {
    public let accounts: [Choice]
    /// Whether the screen offers to sign in with another account: ``signInWithAnother()``.
    public let allowsAnother: Bool
  }

  public struct Fingerprint: Sendable, Equatable {
    /// The purpose of the authentication, to show to the person.
    public let reason: String
    /// Whether the reader waits for a finger. If it does, answer ``FreedomIDAnswer/stay``;
    /// otherwise ``scan()`` starts the reader.
    public let isScanning: Bool
    /// Whether the screen accepts a passcode as well: ``enter(passcode:)``.
    public let takesPasscode: Bool
  }

  public struct Passcode: Sendable, Equatable {
    /// The purpose of the authentication, to show to the person.
    public let reason: String
  }

  public struct Permissions: Sendable, Equatable {
    /// The name of the app that asks for the permissions, to show to the person.
    public let client: String
    public let permissions: [Permission]
  }

  public struct Permission: Sendable, Equatable {
    public let grant: DataGrants
    public let label: String
    /// Whether the person has granted the permission to the app before. It is only for information.
    public let isRemembered: Bool
  }
}
