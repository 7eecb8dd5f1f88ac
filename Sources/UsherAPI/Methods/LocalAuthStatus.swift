public import UsherCore

/// What this machine has to know the caller by.
public struct LocalAuthStatus: Method, Equatable {
  public static let name = "localAuth.status"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary = "What this machine has to know the caller by."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// What the caller can be known by now.
    public var methods: [Step.LocalAuth.Way]
    public var biometric: LocalAuthStatus.Biometric
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

  public struct Biometric: Codable, Sendable, Equatable {
    public var state: State
    /// How many fingers are enrolled; absent where that cannot be told.
    public var fingers: Int?
    public var lockedUntil: Timestamp?
    /// Why it is unavailable.
    public var message: String?

    public enum State: String, Codable, Sendable, Equatable, CaseIterable {
      case ready, noReader, notEnrolled, lockedOut
      /// The bus is down, the reader in use or unplugged, fprintd not allowed to serve us.
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

  public struct Passcode: Codable, Sendable, Equatable {
    public var state: State
    public var lockedUntil: Timestamp?

    public enum State: String, Codable, Sendable, Equatable, CaseIterable {
      case ready, notEnrolled, lockedOut
    }

    public init(state: State, lockedUntil: Timestamp? = nil) {
      self.state = state
      self.lockedUntil = lockedUntil
    }
  }
}
