package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a customer in with an access token that the partner's backend has got (SDK documentation,
/// "Authenticate User with Authorization Code", step 7).
///
/// The app, not the daemon, has received the redirect and compared the `state`. The token's
/// signature is not checked: it can only create an account of the caller's own user, and only
/// Paysafe decides what the token opens.
package struct PaysafeAuthenticate: FlowMachine {
  package typealias Event = FlowEvent<PaysafeCall>
  package typealias Answer = UsherFlows.Answer<PaysafeCall>
  package static let kind = "authenticate"
  package static let summary = "Sign a wallet customer in with an access token of your backend."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The access token, a JWT with a `sub`.
    package var accessToken: WireSecret
    /// The lifetime of the token in seconds. Default: until the token's own `exp`.
    package var expiresIn: Int?
    /// The token with which the daemon refreshes the access token.
    package var refreshToken: WireSecret?
    /// The brand whose customer signs in. Default: the configured brand.
    package var brandIdentity: String?
    /// An existing account to sign in again. The token of any other customer is refused.
    package var account: AccountID?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<PaysafeSettings>

  package static func begin(
    _ params: Params, _ context: FlowContext<PaysafeSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (PaysafeAuthenticate, Answer) {
    let login = try PaysafeLogin(
      .init(
        brandIdentity: params.brandIdentity, account: params.account, keepAlive: params.keepAlive),
      context)
    var fields = ["accessToken": params.accessToken.secret]
    fields["expiresIn"] = params.expiresIn.map { Secret("\($0)") }
    fields["refreshToken"] = params.refreshToken?.secret
    let flow = PaysafeAuthenticate(provider: context.provider)
    do throws(InvalidExchangeReport) {
      let exchanged = try ExchangedTokens(fields, at: transition.now)
      return (flow, login.finish(exchanged.tokens, exchanged.customer))
    } catch {
      throw ParamsValidation.wrong(error.name, error.fault)
    }
  }

  package var view: FlowView {
    FlowView(state: "authenticated", step: .wait(.init(for: "the account to be stored")))
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    .ignore
  }
}
