import UsherAPI
import UsherConfig
import UsherCore

/// An auth code of GoPay that the app, the partner's backend or the daemon redeems.
///
/// One deadline applies to all three ways. It stays the same if the daemon is restarted.
struct CodeExchange: Codable, Sendable, Equatable {
  let code: Sealed<Secret>
  let deadline: Timestamp
  let way: Way
  var retrying = RetryBackoff()

  enum Way: Codable, Sendable, Equatable {
    /// The app passes the code to its backend and reports the outcome.
    case app
    /// The daemon calls the partner's backend.
    case backend
    /// The daemon redeems the code itself, with SNAP, Indonesia's standard for open payment APIs.
    ///
    /// - Parameter externalID: The `X-EXTERNAL-ID` of the call; the same for each attempt.
    case snap(externalID: String)
  }

  /// Creates the exchange. Its deadline is at least one second before the flow expires, so that the
  /// flow can report why it failed.
  init(
    _ code: Secret, _ order: IdentityRequest, _ settings: GoPaySettings,
    _ transition: inout TransitionContext
  ) {
    self.code = Sealed(code)
    deadline = min(transition.now + .seconds(settings.exchangeSeconds), order.endsAt - .seconds(1))
    way =
      switch settings.exchange {
      case .app: .app
      case .backend: .backend
      case .snap: .snap(externalID: ExternalID.random(&transition))
      }
  }

  func step(_ order: IdentityRequest) -> Step {
    switch way {
    case .app:
      .exchangeCredential(
        .init(
          credential: .init(type: .authCode, code: WireSecret(code.unsealed())),
          requestId: order.requestID, deadline: deadline))
    case .backend, .snap: .wait(.init(for: "the auth code to be exchanged"))
    }
  }

  /// Returns the call that redeems the code; nil if the app does that.
  func call(_ order: IdentityRequest) -> GoPayCall? {
    switch way {
    case .app: nil
    case .backend:
      .exchange(
        code: code.unsealed(), correlationID: order.correlationID, requestID: order.requestID)
    case .snap(let externalID):
      .binding(code: code.unsealed(), device: order.installation, externalID: externalID)
    }
  }

  func effects(_ order: IdentityRequest, at now: Timestamp) -> [Effect<GoPayCall>] {
    (call(order).map { [.call($0)] } ?? []) + [.wake(after: deadline - now)]
  }
}

/// The report of an app that has redeemed the code.
extension GoPayExchanged {
  /// Reads the report.
  ///
  /// - Throws: The member that is invalid.
  init(_ fields: [String: Secret]) throws(InvalidExchangeReport) {
    try fields.allow(["userCorrelationId", "token"])
    guard let correlationID = fields["userCorrelationId"] else {
      throw InvalidExchangeReport("userCorrelationId", "is missing")
    }
    self.init(
      correlationID: correlationID.revealed(),
      token: try fields.token("token", upTo: GoPayData.maxTokenBytes))
  }
}
