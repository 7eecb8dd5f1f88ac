public import UsherCore

// The members of each step.

extension Step {
  /// A step that asks the app to open a page in the user's browser.
  public struct OpenURL: Codable, Sendable, Equatable, SchemaDocumented {
    /// The page; always `http` or `https`, so that it can be passed to a browser.
    public var url: String
    /// The URI to which the provider redirects the browser at the end.
    public var redirectURI: String
    /// How the daemon learns that the browser was redirected.
    public var completes: Completion
    /// The id of the method that the page belongs to, as ``alternatives`` name others; absent if
    /// there is no choice of methods.
    public var option: String?
    /// The methods that the user can choose instead of the page; absent if there are none.
    public var alternatives: [StepOption]?
    /// The time from which the input `{"resend": true}` gets another page; absent if it does not.
    public var resendAt: Timestamp?
    /// Whether the daemon cannot poll, so that the user must say when it is done: by the input
    /// `{"confirmed": true}` or by the URL of the redirect. Absent means false.
    public var takesConfirmation: Bool?

    /// How the daemon learns that the browser was redirected.
    public enum Completion: String, Codable, Sendable, CaseIterable {
      /// The daemon's listener on this machine receives the redirect. A submitted URL is accepted
      /// too.
      case loopback
      /// The app submits the URL to which the browser was redirected.
      case submit
      /// The daemon polls the provider, and needs no redirect.
      case poll
    }

    public init(
      url: String, redirectURI: String, completes: Completion, option: String? = nil,
      alternatives: [StepOption]? = nil, resendAt: Timestamp? = nil,
      takesConfirmation: Bool? = nil
    ) {
      self.url = url
      self.redirectURI = redirectURI
      self.completes = completes
      self.option = option
      self.alternatives = alternatives
      self.resendAt = resendAt
      self.takesConfirmation = takesConfirmation
    }
  }

  /// A step that asks the app to show a code, which the user enters on the provider's page (RFC
  /// 8628). The daemon polls the provider; the step takes no input.
  public struct DisplayCode: Codable, Sendable, Equatable, SchemaDocumented {
    /// The code that the user enters.
    public var userCode: String
    /// The page at which the user enters the code.
    public var verificationURI: String
    /// The URI of the provider's page with the code in it, suitable for a QR code; absent if there
    /// is none.
    public var verificationURIComplete: String?
    /// The time from which the code is not valid any more.
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

  /// A step that asks for a code which the user received, or which an authenticator shows.
  public struct EnterCode: Codable, Sendable, Equatable, SchemaDocumented {
    /// What the code is for: `otp` (proof of a number or address), `sca` (approval of an operation)
    /// or `twoFactor` (second factor of a sign-in).
    public var purpose: Purpose
    /// The channel by which the user gets the code: `sms`, `email`, `totp`, …
    public var channel: String
    /// The address or phone number to which the code was sent, masked.
    public var maskedTarget: String
    /// The number of digits of the code; absent if it is unknown.
    public var digits: Int?
    /// The time from which the code is not valid any more.
    public var expiresAt: Timestamp
    /// The time from which the input `{"resend": true}` is accepted.
    public var resendAt: Timestamp
    /// The number of attempts that the user has left, as the provider counts them; absent if it is
    /// unknown.
    public var attemptsLeft: Int?
    /// The form fields to ask for together with the code, such as the user's names in the flow
    /// `verifyPhone` of Truecaller.
    public var alsoAsk: [Field]
    /// The methods that the user can choose instead of the code; absent if there are none.
    public var alternatives: [StepOption]?
    /// The operation that the user authorizes; absent if there is none.
    public var operation: Operation?
    /// The provider's id of the operation that the code approves; absent if there is none.
    public var operationId: String?

    public enum Purpose: String, Codable, Sendable, CaseIterable { case otp, sca, twoFactor }

    public init(
      purpose: Purpose, channel: String, maskedTarget: String, digits: Int? = nil,
      expiresAt: Timestamp, resendAt: Timestamp, attemptsLeft: Int? = nil, alsoAsk: [Field],
      alternatives: [StepOption]? = nil, operation: Operation? = nil, operationId: String? = nil
    ) {
      self.purpose = purpose
      self.channel = channel
      self.maskedTarget = maskedTarget
      self.digits = digits
      self.expiresAt = expiresAt
      self.resendAt = resendAt
      self.attemptsLeft = attemptsLeft
      self.alsoAsk = alsoAsk
      self.alternatives = alternatives
      self.operation = operation
      self.operationId = operationId
    }
  }

  /// A step that asks for a password or PIN.
  public struct EnterPassword: Codable, Sendable, Equatable, SchemaDocumented {
    /// What the password is for: `login`, `pin` or `password`.
    public var purpose: String
    /// The methods that the user can choose instead of the password; absent if there are none.
    public var alternatives: [StepOption]?
    /// The number of attempts that the user has left, as the provider counts them; absent if it is
    /// unknown.
    public var attemptsLeft: Int?
    /// The operation that the user authorizes; absent if there is none.
    public var operation: Operation?
    /// The provider's id of the operation that the password approves; absent if there is none.
    public var operationId: String?

    public init(
      purpose: String, alternatives: [StepOption]? = nil, attemptsLeft: Int? = nil,
      operation: Operation? = nil, operationId: String? = nil
    ) {
      self.purpose = purpose
      self.alternatives = alternatives
      self.attemptsLeft = attemptsLeft
      self.operation = operation
      self.operationId = operationId
    }
  }

  /// A step that asks the user to choose one of several options.
  public struct Choose: Codable, Sendable, Equatable, SchemaDocumented {
    /// What the user chooses: an account, a verification or a method of sign-in.
    public var what: Subject
    /// The options.
    public var options: [StepOption]
    /// The operation that the user authorizes; absent if there is none.
    public var operation: Operation?

    public enum Subject: String, Codable, Sendable, CaseIterable {
      case account, verification, loginMethod
    }

    public init(what: Subject, options: [StepOption], operation: Operation? = nil) {
      self.what = what
      self.options = options
      self.operation = operation
    }
  }

  /// A step that asks the user to fill in the fields of a form.
  public struct FillForm: Codable, Sendable, Equatable, SchemaDocumented {
    /// The fields to ask for.
    public var fields: [Field]

    public init(fields: [Field]) { self.fields = fields }
  }

  /// A step that asks the user which data a client may receive.
  public struct Consent: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the client that receives the data.
    public var client: String
    /// The data that the client requests.
    public var grants: [Grant]

    public struct Grant: Codable, Sendable, Equatable, SchemaDocumented {
      /// The id of the grant, for the input.
      public var id: String
      /// The text that describes the grant to the user.
      public var label: String
      /// Whether the user has granted the client this data before.
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

  /// A step that asks the app to pass a credential to its own backend, and to submit the backend's
  /// reply.
  public struct ExchangeCredential: Codable, Sendable, Equatable, SchemaDocumented {
    /// The credential that the app's backend redeems.
    public var credential: Credential
    /// The PKCE verifier that belongs to the code; absent if the caller made its own.
    public var codeVerifier: WireSecret?
    /// The redirect URI that belongs to the code; absent if the provider wants none.
    public var redirectURI: String?
    /// The id of the exchange, for the app's backend.
    public var requestId: String
    /// The time until which the input is accepted.
    public var deadline: Timestamp

    public struct Credential: Codable, Sendable, Equatable, SchemaDocumented {
      /// The type of the credential: an authorization code.
      public var type: Form
      /// The authorization code. It is a secret.
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

  /// A step that asks the user to authenticate at this machine.
  public struct LocalAuth: Codable, Sendable, Equatable, SchemaDocumented {
    /// The methods that the user can use now.
    public var methods: [Way]
    /// The text that tells the user why.
    public var reason: String
    /// Whether the fingerprint reader waits for a finger. Meanwhile the inputs `cancel` and
    /// `fallback` are still accepted, and hints such as "swipe again" are in the flow's `problem`.
    public var scanning: Bool

    public enum Way: String, Codable, Sendable, CaseIterable { case biometric, passcode }

    public init(methods: [Way], reason: String, scanning: Bool) {
      self.methods = methods
      self.reason = reason
      self.scanning = scanning
    }
  }

  /// A step in which the daemon works or polls. It needs no input. While it polls for the user's
  /// confirmation on another device, the user can ask for another message or method.
  public struct Wait: Codable, Sendable, Equatable, SchemaDocumented {
    /// The operation that the daemon waits for, as a phrase for people.
    public var `for`: String
    /// The number of milliseconds after which the daemon asks the provider again; absent if it is
    /// unknown.
    public var pollAfterMs: Int?
    /// The id of the method by which the user was asked, as ``alternatives`` name others; absent if
    /// there is no choice of methods.
    public var option: String?
    /// The methods that the user can choose instead; absent if there are none.
    public var alternatives: [StepOption]?
    /// The time from which the input `{"resend": true}` sends another message; absent if it does
    /// not.
    public var resendAt: Timestamp?
    /// Whether the daemon cannot poll, so that the user must say when it is done: by the input
    /// `{"confirmed": true}`. Absent means false.
    public var takesConfirmation: Bool?

    public init(
      `for`: String, pollAfterMs: Int? = nil, option: String? = nil,
      alternatives: [StepOption]? = nil, resendAt: Timestamp? = nil,
      takesConfirmation: Bool? = nil
    ) {
      self.for = `for`
      self.pollAfterMs = pollAfterMs
      self.option = option
      self.alternatives = alternatives
      self.resendAt = resendAt
      self.takesConfirmation = takesConfirmation
    }
  }
}
