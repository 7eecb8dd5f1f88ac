import UsherAPI
import UsherCore

@testable import UsherFlows

extension FlowEvent {
  /// Events that can reach a flow of any provider, by name: inputs, answers and outcomes whose
  /// content does not depend on the provider.
  static var common: [(String, Self)] {
    let inputs: [(String, FlowInput)] = [
      ("redirect", .redirect(url: Secret("http://127.0.0.1/"))), ("resend", .resend),
      ("alternative", .alternative("x")), ("denied", .denied), ("exchanged", .exchanged([:])),
      ("exchangeFailed", .exchangeFailed(reason: "x")),
      ("passcode", .passcode(Secret("1234-passcode"))), ("biometric", .biometric),
      ("cancel", .cancelLocalAuth), ("fallback", .fallback),
    ]
    let outcomes: [(String, Self)] = [
      ("consents", .answered(.consents([]))),
      ("scanned", .answered(.localAuth(.scanned(.matched)))),
      ("hint", .answered(.localAuth(.hint("swipe slowly")))),
      ("checked", .answered(.localAuth(.checked(.accepted)))),
      ("woken", .woken), ("resumed", .resumed),
      ("redirected", .redirected(AuthorizationResponse(code: Secret("c")))),
      ("listening", .listening(redirectURI: "http://127.0.0.1:1/")),
      ("listenFailed", .listenFailed("taken")),
      ("discovered", .discovered(.unusable(message: ""))),
      ("verified", .idTokenVerified(.genuine(payload: []))),
      (
        "calledBack",
        .calledBack(
          ProviderCallback(
            requestID: "r", authorization: Secret("x"), isAuthenticated: true, members: [:]))
      ),
    ]
    return inputs.map { ($0, .input($1)) } + outcomes
  }
}
