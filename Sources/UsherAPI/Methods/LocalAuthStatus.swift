import JSONRPC
public import UsherCore

/// Returns the methods by which the caller's user can authenticate at this machine.
public struct LocalAuthStatus: Method, Equatable {
  public static let name = "localAuth.status"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Returns the methods by which the caller's user can authenticate at this machine."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The methods by which the user can authenticate now.
    public var methods: [Step.LocalAuth.Way]
    /// The state of the fingerprint reader for the user.
    public var biometric: LocalAuthStatus.Biometric
    /// The state of the user's passcode.
    public var passcode: LocalAuthStatus.Passcode

    public init(
      methods: [Step.LocalAuth.Way], biometric: LocalAuthStatus.Biometric,
      passcode: LocalAuthStatus.Passcode
    ) {
      self.methods = methods
      self.biometric = biometric
      self.passcode = passcode
    }
  }

  public struct Biometric: Codable, Sendable, Equatable, SchemaDocumented {
    /// `ready`, `noReader`, `notEnrolled`, `lockedOut` after too many failures, or `unavailable` if
    /// the reader cannot be used at present.
    public var state: State
    /// The number of the user's enrolled fingers; absent if it is unknown.
    public var fingers: Int?
    /// The time until which the reader is locked; absent if it is not.
    public var lockedUntil: Timestamp?
    /// Why the fingerprint reader is unavailable; absent in all other states.
    public var message: String?

    public enum State: String, Codable, Sendable, Equatable, CaseIterable {
      case ready, noReader, notEnrolled, lockedOut
      /// The fingerprint reader cannot be used: the system bus is down, the reader is in use or
      /// unplugged, or fprintd denies the daemon access.
      case unavailable
    }

    public init(
      state: State, fingers: Int? = nil, lockedUntil: Timestamp? = nil, message: String? = nil
    ) {
      self.state = state
      self.fingers = fingers
      self.lockedUntil = lockedUntil
      self.message = message
    }
  }

  public struct Passcode: Codable, Sendable, Equatable, SchemaDocumented {
    /// `ready`, `notEnrolled`, or `lockedOut` after too many failures.
    public var state: State
    /// The time until which the passcode is locked; absent if it is not.
    public var lockedUntil: Timestamp?

    public enum State: String, Codable, Sendable, Equatable, CaseIterable {
      case ready, notEnrolled, lockedOut
    }

    public init(state: State, lockedUntil: Timestamp? = nil) {
      self.state = state
      self.lockedUntil = lockedUntil
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "methods": ["passcode"], "biometric": ["state": "noReader"],
      "passcode": ["state": "ready"],
    ])
}
