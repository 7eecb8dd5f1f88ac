import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Verifies a contact before a registration, which gets the proof as a handle (SDK documentation,
/// OTP Number Request and Validation; page BSA in Usher.docc).
package struct BSAVerifyContact: FlowMachine {
  package typealias Event = FlowEvent<BSACall>
  package typealias Answer = UsherFlows.Answer<BSACall>
  package static let kind = "verifyContact"
  package static let summary = "Verify that an e-mail address or phone number belongs to a person."

  /// How long a registration can use the `disposeToken` that this flow returns.
  static let handleLifetime = Duration.seconds(30 * 60)

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The channel of the number: `email` or `sms`.
    package var sendType: BSAContact.Channel
    /// The e-mail address or phone number that is verified.
    package var sendTarget: String
    /// The client key that an app's SDK was configured with; must equal the configured one.
    package var clientKey: WireSecret?
    /// The app's bundle identifier; must equal the configured `appPackage`.
    package var bundleIdentifier: String?
  }

  /// The field of the typed number with which an app's SDK repeats its client key.
  static let clientKeyField = "clientKey"

  package let provider: Provider<BSASettings>
  /// The client key that the caller started the flow with; nil if it passed none.
  private var clientKey: Sealed<Secret>?
  private var state: State

  private enum State: Codable, Sendable, Equatable {
    /// The flow failed before any call to BSA.
    case refused(Failure)
    case verifying(ContactVerification)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<BSASettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (BSAVerifyContact, Answer) {
    let provider = context.provider
    do throws(Failure) {
      try context.checkApp(params.clientKey, params.bundleIdentifier, "the bundleIdentifier")
      let contact = try context.checked(
        "sendTarget", try BSAContact(params.sendType, params.sendTarget))
      var verification = ContactVerification(contact, context)
      let effects = verification.begin()
      let flow = BSAVerifyContact(
        provider: provider, clientKey: params.clientKey.map { Sealed($0.secret) },
        state: .verifying(verification))
      return (flow, .proceed(effects))
    } catch {
      return (BSAVerifyContact(provider: provider, state: .refused(error)), .fail(error))
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: FlowView(state: "sending", step: .wait(.init(for: "the number to be sent")))
    case .verifying(let verification):
      FlowView(
        state: verification.state, step: verification.step(provider.settings),
        problem: verification.problem, key: verification.contact.key)
    }
  }

  package var unknownOutcome: String? {
    if case .verifying(let verification) = state { verification.unknownOutcome } else { nil }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .refused(let failure): return event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .verifying(var verification):
      var event = event
      if case .input(.code(let number, var fields)) = event,
        let key = fields.removeValue(forKey: Self.clientKeyField)
      {
        if let refusal = refusal(of: key) { return refusal }
        event = .input(.code(number, fields: fields))
      }
      let answer = verification.receive(event, provider, at: transition.now)
      state = .verifying(verification)
      return answer.flowAnswer { finish(verification.contact, $0, &transition) }
    }
  }

  /// Returns the refusal of a client key that is not the one that the flow was started with.
  private func refusal(of key: Secret) -> Answer? {
    guard let clientKey, clientKey.unsealed() != key else { return nil }
    return .refuse(
      field: "input.fields.\(Self.clientKeyField)",
      message: "the clientKey is not the one with which the number was requested")
  }

  private func finish(
    _ contact: BSAContact, _ token: Sealed<Secret>, _ transition: inout TransitionContext
  ) -> Answer {
    let handle = "dsp_" + transition.random(16).hexadecimal
    return .finish(
      Completion(
        grant: nil, result: ["disposeToken": .string(handle)],
        handoffSecret: HandoffSecret(
          handle: handle, purpose: contact.key, secret: token,
          expiresAt: transition.now + Self.handleLifetime)))
  }
}

// Checks of parameters of `flow.start`. If one fails, the call succeeds and the flow fails, because
// BSA's SDK reports it as a failure of the operation.
extension FlowContext<BSASettings> {
  /// Checks that the caller's SDK is configured with the same client key and app package as the
  /// daemon. A value that the caller does not pass is not compared.
  func checkApp(_ clientKey: WireSecret?, _ package: String?, _ name: String) throws(Failure) {
    if let clientKey, !credential.accepts(clientKey.secret) {
      throw .otherApp("the clientKey", provider.name)
    }
    if let package, Secret(package) != Secret(provider.settings.appPackage) {
      throw .otherApp(name, provider.name)
    }
  }

  /// Validates a parameter and turns a rejection into a failure of the flow.
  func checked<Value>(
    _ member: String, _ value: @autoclosure () throws(InvalidValue) -> Value
  ) throws(Failure) -> Value {
    do throws(InvalidValue) {
      return try value()
    } catch {
      throw .impossible(.parameterMissing, "\(member) \(error.message)", provider.name)
    }
  }

  /// Returns BSA's proof of a verified contact, which an earlier flow stored under this handle.
  ///
  /// - Throws: rtCode 3006 if the handle is unknown or expired, or belongs to another client or
  ///   contact.
  func disposeToken(
    _ handle: WireSecret, for contact: BSAContact
  ) throws(Failure) -> Sealed<Secret> {
    let kept = handoffSecrets.first {
      Secret($0.handle) == handle.secret && $0.purpose == contact.key
    }
    guard let kept else {
      throw .impossible(
        .invalid, "disposeToken was not issued to this client for this contact, or has expired",
        provider.name)
    }
    return kept.secret
  }
}
