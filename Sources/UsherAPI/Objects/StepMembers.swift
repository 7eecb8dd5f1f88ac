public import UsherCore

// What each step carries. Members and their meaning: RPC.md § Objects.

extension Step {
  /// Show this page in the person's browser.
  public struct OpenURL: Codable, Sendable, Equatable {
    /// Only http or https; safe to hand to a browser.
    public var url: String
    /// Where the browser comes back to.
    public var redirectURI: String
    /// Who notices that it came back.
    public var completes: Completion

    /// Who notices that the browser came back.
    public enum Completion: String, Codable, Sendable, CaseIterable {
      /// The daemon's listener on this machine; a pasted URL is accepted too.
      case loopback
      /// The app hands in the URL the browser ended at.
      case submit
      /// The daemon asks the provider.
      case poll
    }

    public init(url: String, redirectURI: String, completes: Completion) {
      self.url = url
      self.redirectURI = redirectURI
      self.completes = completes
    }
  }

  /// Show this code; the person enters it at the provider's page. The daemon polls.
  public struct DisplayCode: Codable, Sendable, Equatable {
    public var userCode: String
    public var verificationURI: String
    /// With the code in it: for a QR code.
    public var verificationURIComplete: String?
    public var expiresAt: Timestamp

    public init(
      userCode: String, verificationURI: String, verificationURIComplete: String? = nil,
      expiresAt: Timestamp
    ) {
      self.userCode = userCode
      self.verificationURI = verificationURI
      self.verificationURIComplete = verificationURIComplete
      self.expiresAt = expiresAt
    }
  }

  /// Ask for a code that reached the person, or that an authenticator shows.
  public struct EnterCode: Codable, Sendable, Equatable {
    public var purpose: Purpose
    /// `sms`, `email`, `totp`, …
    public var channel: String
    /// Where the code went, masked by the provider.
    public var maskedTarget: String
    public var digits: Int?
    public var expiresAt: Timestamp
    /// From when `{resend:true}` is accepted.
    public var resendAt: Timestamp
    /// By the server's count.
    public var attemptsLeft: Int?
    /// Asked along with the code.
    public var alsoAsk: [Field]
    public var operation: Operation?

    public enum Purpose: String, Codable, Sendable, CaseIterable { case otp, sca, twoFactor }

    public init(
      purpose: Purpose, channel: String, maskedTarget: String, digits: Int? = nil,
      expiresAt: Timestamp, resendAt: Timestamp, attemptsLeft: Int? = nil, alsoAsk: [Field],
      operation: Operation? = nil
    ) {
      self.purpose = purpose
      self.channel = channel
      self.maskedTarget = maskedTarget
      self.digits = digits
      self.expiresAt = expiresAt
      self.resendAt = resendAt
      self.attemptsLeft = attemptsLeft
      self.alsoAsk = alsoAsk
      self.operation = operation
    }
  }

  /// Ask for a password.
  public struct EnterPassword: Codable, Sendable, Equatable {
    public var purpose: String
    /// Other ways to go on from here.
    public var alternatives: [Option]?
    public var operation: Operation?

    public init(purpose: String, alternatives: [Option]? = nil, operation: Operation? = nil) {
      self.purpose = purpose
      self.alternatives = alternatives
      self.operation = operation
    }
  }

  /// Ask for one of several.
  public struct Choose: Codable, Sendable, Equatable {
    public var what: Subject
    public var options: [Option]
    public var operation: Operation?

    public enum Subject: String, Codable, Sendable, CaseIterable {
      case account, verification, loginMethod
    }

    public init(what: Subject, options: [Option], operation: Operation? = nil) {
      self.what = what
      self.options = options
      self.operation = operation
    }
  }

  /// Ask for some fields.
  public struct FillForm: Codable, Sendable, Equatable {
    public var fields: [Field]

    public init(fields: [Field]) {
      self.fields = fields
    }
  }

  /// Ask which data may go to whom.
  public struct Consent: Codable, Sendable, Equatable {
    /// Who will get it.
    public var client: String
    public var grants: [Grant]

    public struct Grant: Codable, Sendable, Equatable {
      public var id: String
      public var label: String
      /// Whether it was granted before.
      public var remembered: Bool

      public init(id: String, label: String, remembered: Bool) {
        self.id = id
        self.label = label
        self.remembered = remembered
      }
    }

    public init(client: String, grants: [Grant]) {
      self.client = client
      self.grants = grants
    }
  }

  /// Hand this credential to the app's own backend and answer what it said.
  public struct ExchangeCredential: Codable, Sendable, Equatable {
    public var credential: Credential
    public var codeVerifier: WireSecret?
    public var redirectURI: String?
    public var requestId: String
    public var deadline: Timestamp

    public struct Credential: Codable, Sendable, Equatable {
      public var type: Form
      public var code: WireSecret

      public enum Form: String, Codable, Sendable, CaseIterable { case authCode }

      public init(type: Form, code: WireSecret) {
        self.type = type
        self.code = code
      }
    }

    public init(
      credential: Credential, codeVerifier: WireSecret? = nil, redirectURI: String? = nil,
      requestId: String, deadline: Timestamp
    ) {
      self.credential = credential
      self.codeVerifier = codeVerifier
      self.redirectURI = redirectURI
      self.requestId = requestId
      self.deadline = deadline
    }
  }

  /// Let the person at this machine prove to be there.
  public struct LocalAuth: Codable, Sendable, Equatable {
    public var methods: [Way]
    public var reason: String
    /// While scanning, cancel and fallback stay valid and hints come as `problem`.
    public var scanning: Bool

    public enum Way: String, Codable, Sendable, CaseIterable { case biometric, passcode }

    public init(methods: [Way], reason: String, scanning: Bool) {
      self.methods = methods
      self.reason = reason
      self.scanning = scanning
    }
  }

  /// Nothing to do: the daemon is at it.
  public struct Wait: Codable, Sendable, Equatable {
    /// What it waits for, in words.
    public var `for`: String
    public var pollAfterMs: Int?

    public init(`for`: String, pollAfterMs: Int? = nil) {
      self.for = `for`
      self.pollAfterMs = pollAfterMs
    }
  }
}
