import UsherAPI
import UsherConfig
import UsherCore

/// An auth code that the app, the partner's backend or the daemon redeems.
///
/// One deadline applies to all three, and it survives a restart.
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
    /// The daemon binds the account with SNAP.
    ///
    /// - Parameter externalID: The same for each attempt.
    case snap(externalID: String)
  }

  /// Starts an exchange. Its deadline is at least one second before the flow expires, so that the
  /// flow can report why it failed.
  init(
    _ code: Secret, _ order: IdentityOrder, _ settings: GoPaySettings,
    _ moment: inout TransitionContext
  ) {
    self.code = Sealed(code)
    deadline = min(
      moment.now + .seconds(settings.exchangeSeconds), order.endsAt - .seconds(1))
    way =
      switch settings.exchange {
      case .app: .app
      case .backend: .backend
      case .snap: .snap(externalID: ExternalID.draw(&moment))
      }
  }

  func step(_ order: IdentityOrder) -> Step {
    switch way {
    case .app:
      .exchangeCredential(
        .init(
          credential: .init(type: .authCode, code: WireSecret(code.unsealed())),
          requestId: order.requestID, deadline: deadline))
    case .backend, .snap: .wait(.init(for: "the auth code to be exchanged"))
    }
  }

  /// Returns the call to make; nil if the app exchanges the code.
  func call(_ order: IdentityOrder) -> GoPayCall? {
    switch way {
    case .app: nil
    case .backend:
      .exchange(
        code: code.unsealed(), correlationID: order.correlationID, requestID: order.requestID)
    case .snap(let externalID):
      .binding(code: code.unsealed(), device: order.installation, externalID: externalID)
    }
  }

  func effects(_ order: IdentityOrder, at now: Timestamp) -> [Effect<GoPayCall>] {
    (call(order).map { [.call($0)] } ?? []) + [.wake(after: deadline - now)]
  }
}

/// The app's report about an exchanged code.
extension GoPayExchanged {
  /// - Throws: The member that is invalid.
  init(_ fields: [String: Secret]) throws(UnfitAnswer) {
    let known: Set = ["userCorrelationId", "token"]
    if let stray = fields.keys.filter({ !known.contains($0) }).min() {
      throw UnfitAnswer(stray, "is not a member of this input")
    }
    guard let correlationID = fields["userCorrelationId"] else {
      throw UnfitAnswer("userCorrelationId", "is missing")
    }
    let token = fields["token"]
    if let text = token?.revealed().utf8 {
      guard (1...GoPayData.longestToken).contains(text.count), text.allSatisfy(\.isVisible) else {
        throw UnfitAnswer(
          "token",
          "must be 1 to \(GoPayData.longestToken) printable ASCII characters without spaces")
      }
    }
    self.init(correlationID: correlationID.revealed(), token: token)
  }
}

/// An invalid member of an input; the message contains nothing of its value.
struct UnfitAnswer: Error {
  let field: String
  let message: String

  init(_ name: String, _ what: String) {
    field = "input.success.\(name)"
    message = "\(field) \(what)"
  }
}
