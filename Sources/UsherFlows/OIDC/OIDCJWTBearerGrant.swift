import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Gets tokens without a user, by an assertion that the daemon signs, or that another program
/// writes into a file (RFC 7523 §2.1). The account that results needs no refresh token: the daemon
/// presents another assertion.
package struct OIDCJWTBearerGrant: FlowMachine, UnattendedGrant {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "jwtBearer"
  package static let summary = "Get tokens of a service account by a signed assertion."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whom the tokens are for: one of the subjects that the configuration permits. Default: the
    /// service account itself.
    package var subject: String?
    /// The scopes, separated by spaces. Default: none, for which the provider decides.
    package var scope: String?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<OIDCSettings>
  private let subject: String
  let scope: String
  private let keepAlive: Bool
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  var dpopKey: Sealed<Secret>?
  var state: UnattendedGrantState
  var problem: Problem?

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCJWTBearerGrant, Answer) {
    let provider = context.provider
    let settings = provider.settings
    guard settings.jwtBearer.isConfigured else {
      throw UsherError(
        .permissionDenied,
        "provider \(provider.name) has no section jwt_bearer with key_credential or "
          + "assertion_file in its configuration")
    }
    let subject = settings.jwtBearer.subject(named: params.subject, clientID: settings.clientID)
    guard settings.jwtBearer.permits(subject, clientID: settings.clientID) else {
      throw UsherError(
        .permissionDenied,
        "the subject is not one of the subjects in the configuration of provider "
          + "\(provider.name)", field: "params.subject")
    }
    let flow = OIDCJWTBearerGrant(
      provider: provider, subject: subject,
      scope: try params.scope.map { (scope) throws(UsherError) in
        try OIDCRequest.words(of: scope)
      } ?? "",
      keepAlive: params.keepAlive ?? false, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView { stateView }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    process(event, &transition)
  }

  func request(_ metadata: OIDCMetadata) -> OIDCCall {
    .jwtBearer(.init(subject: subject, scope: scope), metadata)
  }

  func account() -> AccountGrant {
    var grant = AccountGrant(
      subject: subject,
      label: provider.settings.jwtBearer.assertionFile == nil
        ? "service account \(subject)" : "workload \(subject)",
      attributes: ["grant": .string(OIDCProvider.assertionGrant)], keepAlive: keepAlive,
      tokens: nil)
    grant.isByAssertion = true
    grant.signInOptions = SignInOptions(kind: Self.kind)
    return grant
  }
}
