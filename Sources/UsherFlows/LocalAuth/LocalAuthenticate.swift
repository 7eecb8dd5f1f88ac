import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// The flow `local/authenticate`, which only authenticates the user at this machine (SDK
/// documentation, `startSimpleAuth`; page LocalAuth in Usher.docc).
package struct LocalAuthenticate: FlowMachine {
  package typealias Call = NoCall
  package static let kind = "authenticate"
  package static let summary = "Authenticate the person at this machine by fingerprint or passcode."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whether the user authenticates with a fingerprint or the passcode.
    package var localAuthType: LocalAuthType
    /// The text that is shown to the user: up to 1024 bytes without control characters.
    package var reason: String
    /// Whether the flow fails if the enrolled fingers have changed since the last time. Default:
    /// false.
    package var checkDomainStateChanged: Bool?
    /// Whether the user may use the passcode after the fingerprint failed. Default: false.
    package var usePasscodeWhenFailed: Bool?
  }

  package let provider: Provider<LocalProviderSettings>
  private var authentication: LocalAuthentication

  package static func begin(
    _ params: Params, _ context: FlowContext<LocalProviderSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (LocalAuthenticate, Answer<NoCall>) {
    let reason = try ParamsValidation.text(params.reason, "reason") ?? ""
    var authentication = LocalAuthentication(
      LocalAuthRequest(
        localAuthType: params.localAuthType, reason: reason,
        checkDomainStateChanged: params.checkDomainStateChanged ?? false,
        usePasscodeWhenFailed: params.usePasscodeWhenFailed ?? false))
    let questions = authentication.begin()
    let flow = LocalAuthenticate(provider: context.provider, authentication: authentication)
    return (flow, .asking(questions))
  }

  package var view: FlowView {
    FlowView(
      state: authentication.state, step: authentication.step, problem: authentication.problem)
  }

  package mutating func receive(
    _ event: FlowEvent<NoCall>, at transition: inout TransitionContext
  ) -> Answer<NoCall> {
    switch authentication.receive(event, at: transition.now) {
    case .ask(let questions): .asking(questions)
    case .authenticated(let proof):
      .finish(
        Completion(
          grant: nil,
          result: [
            "method": .string(proof.method.rawValue),
            "authenticatedAt": .string(proof.at.description),
          ]))
    case .failed(let errorCode, let message): .fail(.localAuth(errorCode, message))
    case .refuse(let field, let message): .refuse(field: field, message: message)
    case .ignore: .ignore
    }
  }

  /// Returns the SDK's error code for a cancelled flow; the SDK has none for an expired one.
  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    ending == .cancelled ? LocalAuthErrorCode.userCancel.providerErrorCode : nil
  }
}

extension FlowAnswer {
  /// Continues with questions to the local authenticator.
  package static func asking(_ questions: [LocalAuthQuestion]) -> Self {
    .proceed(questions.map { .ask(.localAuth($0)) })
  }
}

/// The call type of a flow that makes no calls to a provider.
package enum NoCall: ProviderCall {
  package var name: String { switch self {} }

  package func render(_ context: RenderContext<LocalProviderSettings>) throws(UsherError)
    -> HTTPRequest
  {
    switch self {}
  }
}
