public import FoundationEssentials

/// What the SDK shows, and what can be answered there (seed, "Authorization Flow").
///
/// A screen makes the answers that fit it. ``FreedomIDAnswer/cancel`` and ``FreedomIDAnswer/stay``
/// fit all of them.
public enum FreedomIDScreen: Sendable, Equatable {
  /// Something is being asked elsewhere: answer ``FreedomIDAnswer/stay``.
  case waiting(Waiting)
  /// "Authentication Screen Interaction": by which of the methods the person logs in.
  case loginMethod(LoginMethod)
  /// The phone number or the e-mail address.
  case form(Form)
  case password(Password)
  /// A code of an SMS, or of the second factor.
  case code(Code)
  /// "Home Screen Interaction": the accounts tied to this device.
  case home(Home)
  case fingerprint(Fingerprint)
  /// Where there is no fingerprint reader, or no finger will do.
  case passcode(Passcode)
  /// "Request for Permissions".
  case permissions(Permissions)
}

extension FreedomIDScreen {
  public struct Waiting: Sendable, Equatable {
    /// What is waited for, in words: `the accounts tied to this device`.
    public let reason: String
  }

  /// One of several.
  public struct Choice: Sendable, Equatable {
    /// Of an account the daemon's name, of a method its word.
    public let id: String
    /// For the person; phone numbers and addresses are masked.
    public let label: String
  }

  public struct LoginMethod: Sendable, Equatable {
    /// Of them: `phoneOTP`, `emailPassword`, `phonePassword`.
    public let methods: [Choice]
  }

  public struct Form: Sendable, Equatable {
    public let fields: [Field]
  }

  public struct Field: Sendable, Equatable {
    public enum Kind: String, Sendable, Equatable, CaseIterable {
      case text, email, phone, password, date
    }

    /// `phone` or `email`.
    public let name: String
    public let kind: Kind
    public let isRequired: Bool
    /// In characters.
    public let maxLength: Int?
  }

  public struct Password: Sendable, Equatable {}

  public struct Code: Sendable, Equatable {
    /// Whether it is the second factor, after a password or a code that was right.
    public let isSecondFactor: Bool
    /// How it got to the person: `sms`, `email`, `totp`, …
    public let channel: String
    /// Where it went, masked.
    public let maskedTarget: String
    public let digits: Int?
    public let expiresAt: Date
    /// From when ``resend()`` is taken.
    public let resendAt: Date
    /// By the server's count.
    public let attemptsLeft: Int?
  }

  public struct Home: Sendable, Equatable {
    public let accounts: [Choice]
    /// Whether ``signInWithAnother()`` is possible.
    public let allowsAnother: Bool
  }

  public struct Fingerprint: Sendable, Equatable {
    /// What it is asked for.
    public let reason: String
    /// Whether the reader waits for a finger: then answer ``FreedomIDAnswer/stay``. Else ``scan()``
    /// makes it wait.
    public let isScanning: Bool
    /// Whether ``enter(passcode:)`` is taken as well.
    public let takesPasscode: Bool
  }

  public struct Passcode: Sendable, Equatable {
    /// What it is asked for.
    public let reason: String
  }

  public struct Permissions: Sendable, Equatable {
    /// The app's name.
    public let client: String
    public let permissions: [Permission]
  }

  public struct Permission: Sendable, Equatable {
    public let grant: DataGrants
    public let label: String
    /// Whether the person granted it before: told for information.
    public let isRemembered: Bool
  }
}
