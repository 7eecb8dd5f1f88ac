// The descriptions of each step and its members, for the OpenRPC document.

extension Step.Kind {
  /// The description of the step: what it asks for, and which input answers it.
  var documentation: String {
    switch self {
    case .openURL:
      """
      Open the page in the user's browser. Input: `redirectURL`. It is always accepted; with \
      `completes` other than `submit` the daemon also notices by itself that the user is done.
      """
    case .displayCode:
      """
      Show the code, which the user enters at the page on any device (RFC 8628). No input: the \
      daemon polls the provider.
      """
    case .enterCode:
      """
      Ask for a code that the user received or that an authenticator shows. Input: `code`, with \
      `fields` if `alsoAsk` is not empty; or `resend` for another code.
      """
    case .enterPassword: "Ask for a password. Input: `password`, or `alternative`."
    case .choose: "Let the user choose one of the options. Input: `id`."
    case .fillForm: "Let the user fill in the fields. Input: `fields`."
    case .consent:
      "Ask the user which data the client may get. Input: `granted`, or `denied`."
    case .exchangeCredential:
      """
      Pass the credential to the app's own backend, which redeems it at the provider. Input: \
      `success` with the backend's reply, or `failure`.
      """
    case .localAuth:
      """
      Let the user authenticate at this machine. Input: `passcode`, `biometric`, `fallback` or \
      `cancel`.
      """
    case .wait: "Wait: the daemon is working. No input: call `flow.wait`."
    }
  }
}

extension Step.OpenURL: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "url": "The page; always `http` or `https`, so that it can be passed to a browser.",
    "redirectURI": "The URI to which the provider redirects the browser at the end.",
    "completes": "How the daemon learns of the redirect.",
  ]
}

extension Step.DisplayCode: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "userCode": "The code that the user enters.",
    "verificationURI": "The page at which the user enters the code.",
    "verificationURIComplete": "The URI with the code in it, suitable for a QR code.",
    "expiresAt": "The time from which the code is not valid any more.",
  ]
}

extension Step.EnterCode: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "purpose": """
    What the code is for: `otp` (proof of a number or address), `sca` (approval of an \
    operation) or `twoFactor` (second factor of a sign-in).
    """,
    "channel": "The channel of the code: `sms`, `email`, `totp`, …",
    "maskedTarget": "The address to which the code was sent, masked.",
    "digits": "The number of digits of the code; absent if it is unknown.",
    "expiresAt": "The time from which the code is not valid any more.",
    "resendAt": "The time from which the input `{\"resend\": true}` is accepted.",
    "attemptsLeft": "The number of attempts left, as the provider counts them.",
    "alsoAsk": "The fields to ask for together with the code.",
    "operation": "The operation that the user authorizes; absent if there is none.",
  ]
}

extension Step.EnterPassword: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "purpose": "What the password is for: `login`, `pin` or `password`.",
    "alternatives": "The methods that can be chosen instead of the password.",
    "operation": "The operation that the user authorizes; absent if there is none.",
  ]
}

extension Step.Choose: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "what": "What is to be chosen: an account, a verification or a method of sign-in.",
    "options": "The options.",
    "operation": "The operation that the user authorizes; absent if there is none.",
  ]
}

extension Step.FillForm: SchemaDocumented {
  public static let memberDescriptions = ["fields": "The fields to ask for."]
}

extension Step.Consent: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "client": "The client that gets the data.",
    "grants": "The data that the client requests.",
  ]
}

extension Step.Consent.Grant: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "id": "The id of the grant, for the input.",
    "label": "The text that describes the grant to the user.",
    "remembered": "Whether the user granted it before.",
  ]
}

extension Step.ExchangeCredential: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "credential": "The credential that the app's backend redeems.",
    "codeVerifier": """
    The PKCE verifier that belongs to the code; absent if the caller made its own.
    """,
    "redirectURI": "The redirect URI that belongs to the code; absent if the provider wants none.",
    "requestId": "The id of the exchange, for the app's backend.",
    "deadline": "The time until which the input is accepted.",
  ]
}

extension Step.ExchangeCredential.Credential: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "type": "The type of the credential: an authorization code.",
    "code": "The authorization code. It is a secret.",
  ]
}

extension Step.LocalAuth: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "methods": "The methods that the user can use now.",
    "reason": "The text that tells the user why.",
    "scanning": """
    Whether the fingerprint reader waits for a finger. Meanwhile the inputs `cancel` and \
    `fallback` are still accepted, and hints such as "swipe again" are in the flow's \
    `problem`.
    """,
  ]
}

extension Step.Wait: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "for": "The operation that the daemon waits for, as a phrase for people.",
    "pollAfterMs": """
    The number of milliseconds after which the daemon asks the provider again; absent if it is \
    unknown.
    """,
  ]
}
