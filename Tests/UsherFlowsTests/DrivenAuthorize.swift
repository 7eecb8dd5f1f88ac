import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// An OIDC authorize flow under test, with the source of its random bytes.
struct DrivenAuthorize: AnsweredMachine {
  var flow: OIDCAuthorize
  private(set) var last: Answer<OIDCCall>
  private var moment = UsherFlowsTests.moment()

  init(
    redirect: String = "loopback", account: KnownAccount? = nil,
    _ params: OIDCAuthorize.Params = .init(), settings: (inout OIDCSettings) -> Void = { _ in }
  ) throws {
    try self.init(
      provider: UsherFlowsTests.provider(redirect: redirect, settings), account: account, params)
  }

  init(
    provider: ProviderConfig, account: KnownAccount? = nil, _ params: OIDCAuthorize.Params = .init()
  ) throws {
    (flow, last) = try OIDCAuthorize.begin(
      params,
      FlowContext<OIDCSettings>(
        provider: Provider(provider)!, account: account, requestID: "req-1"),
      at: &moment)
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<OIDCCall>) -> Answer<OIDCCall> {
    last = flow.receive(event, at: &moment)
    return last
  }

  static let redirectURI = "http://127.0.0.1:40001/callback"

  /// Drives the flow until it shows the authorization page.
  mutating func toBrowser(_ metadata: OIDCMetadata = metadata()) {
    receive(.discovered(.found(metadata)))
    receive(.listening(redirectURI: Self.redirectURI))
  }

  mutating func toExchange(_ metadata: OIDCMetadata = metadata()) {
    toBrowser(metadata)
    receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
  }

  /// Drives the flow until it verifies the ID token. The nonce is no longer visible then.
  mutating func toVerify(_ metadata: OIDCMetadata = metadata(), reply: HTTPReply = tokenReply()) {
    toExchange(metadata)
    if let call = calls.first { receive(.called(call, .reply(reply))) }
  }

  var step: Step.OpenURL? {
    if case .openURL(let step) = flow.view.step { step } else { nil }
  }

  var query: [String: String] {
    let query = step?.url.split(separator: "?", maxSplits: 1).last ?? ""
    return Dictionary((FormEncoding.decode(query) ?? []).map { ($0.name, $0.value) }) { $0 + $1 }
  }
}

let revocation = OIDCCall.revoke(
  .init(token: Secret("refresh-secret"), kind: .refreshToken), metadata())
