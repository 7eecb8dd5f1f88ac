import UsherConfig
import UsherCore

/// One visit of the user to the log-in page, with the `state` that ties the redirect to this flow
/// (provider contract §3.4).
struct LinkLogin: Codable, Sendable, Equatable {
  /// The `state`: 128 random bits in 32 hexadecimal digits, the longest that GoPay accepts.
  let state: Sealed<Secret>

  init(_ transition: inout TransitionContext) {
    state = Sealed(Secret(transition.random(16).hexadecimal))
  }

  /// Returns the URL of the log-in page for the browser.
  func url(_ order: IdentityRequest, redirectURI: String, _ settings: GoPaySettings) -> String {
    let fields = [
      ("redirectURL", redirectURI), ("scopes", "DEFAULT"), ("state", state.unsealed().revealed()),
      ("merchantId", settings.merchantID), ("lang", order.locale.rawValue),
    ]
    return settings.paths.authCodePage.url(under: settings.snapBaseURL) + "?"
      + FormEncoding.encode(fields)
  }
}

extension RedirectForm {
  /// The names of GoPay's log-in page (contract §3.4).
  package static let gopay = RedirectForm(
    code: ["authCode"], error: "errorCode", errorDescription: "errorDesc",
    outcomes: [
      .init(name: "result", success: "success"),
      .init(name: "success", success: "true", failure: "failure"),
    ])
}
