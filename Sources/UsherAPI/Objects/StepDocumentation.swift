// The description of each step, for the OpenRPC document.

extension Step.Kind {
  /// The description of the step: what it asks for, and which input answers it.
  var documentation: String {
    switch self {
    case .openURL:
      """
      Open the page in the user's browser. Input: `redirectURL`. It is always accepted; with \
      `completes` other than `submit` the daemon also notices by itself that the user is done. With \
      `resendAt` also `resend` or `alternative`, with `takesConfirmation` also `confirmed`.
      """
    case .displayCode:
      """
      Show the code, which the user enters at the page on any device (RFC 8628). No input: the \
      daemon polls the provider.
      """
    case .enterCode:
      """
      Ask for a code that the user received or that an authenticator shows. Input: `code`, with \
      `fields` if `alsoAsk` is not empty; or `resend` for another code; or `alternative`.
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
    case .wait:
      """
      Wait: the daemon is working. No input: call `flow.wait`. With `resendAt` the user may answer \
      `resend` or `alternative`, with `takesConfirmation` also `confirmed`.
      """
    }
  }
}
