import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Strong Customer Authentication (SCA) for an event whose id the caller knows, for example from
/// its own call to the wallet API (provider contract §2.5).
package struct PaysafeSCA: FlowMachine {
  package typealias Event = FlowEvent<PaysafeCall>
  package typealias Answer = UsherFlows.Answer<PaysafeCall>
  package static let kind = "sca"
  package static let summary = "Have a wallet customer approve an operation in progress."
  package static let needsAccount = true

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The customer's account.
    package var account: AccountID?
    /// The id of the event that the wallet's reply named.
    package var eventId: String
    /// The id of the wallet operation that the wallet's reply named.
    package var walletOperationId: String
    /// The verifications that the event lists; empty for any agreed method. If absent, the provider
    /// is asked for them, unless `verification` is present.
    package var availableVerifications: [Available]?
    /// The verification to use. If absent, the customer chooses.
    package var verification: PaysafeCall.Verification?
    /// The URL to which the provider's approval page sends the browser back: https, or http on the
    /// loopback.
    package var returnUrl: String?
    /// The language of messages to the customer, such as `en` or `en-GB`.
    package var language: String?
    /// A description of the operation for the customer who approves it.
    package var operation: Operation?
    /// Whether the challenge for `verification` was sent before, by another flow or device. If
    /// true, the flow sends none and asks for the customer's code or password at once.
    package var isChallenged: Bool?
  }

  package struct Available: Codable, Sendable, Equatable, SchemaDocumented {
    /// The provider's name of the method, such as `OTP`.
    package var method: String
    /// The provider's name of the channel, such as `SMS`; absent if the method has none.
    package var channel: String?
    /// The masked phone number or e-mail address to which the challenge is sent.
    package var target: String?
  }

  package let provider: Provider<PaysafeSettings>
  private var process: SCAProcess

  package static func begin(
    _ params: Params, _ context: FlowContext<PaysafeSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (PaysafeSCA, Answer) {
    let id = try SCARequest.identifier(params.eventId, "eventId")
    let operationID = try SCARequest.identifier(params.walletOperationId, "walletOperationId")
    let request = try SCARequest(
      context, verification: params.verification, returnURL: params.returnUrl,
      language: params.language, operation: params.operation)
    let offers = try offers(params.availableVerifications)
    if let wanted = request.wanted, let offers, !offers.isEmpty,
      [SCAOption](offered: offers).option(for: wanted) == nil
    {
      throw ParamsValidation.wrong("verification", "is not one of params.availableVerifications")
    }
    let event = PaysafeCall.Event(account: request.account, id: id, walletOperationID: operationID)
    let terms = SCAProcess.Terms(event, request, context.provider)
    let (process, answer) =
      if params.isChallenged == true {
        SCAProcess.resume(
          try sent(request.wanted), terms, offers: offers, at: transition.now)
      } else {
        SCAProcess.begin(terms, offers: offers, at: transition.now)
      }
    var flow = PaysafeSCA(provider: context.provider, process: process)
    let next = flow.apply(answer, at: transition.now)
    return (flow, next)
  }

  /// Returns the form of a challenge that was sent before.
  private static func sent(
    _ wanted: PaysafeCall.Verification?
  ) throws(UsherError) -> SCAOption {
    guard let option = wanted.flatMap({ SCAOption(requested: $0) }), option.form.isTyped else {
      throw ParamsValidation.wrong(
        "isChallenged", "needs a verification by code or password: that of the sent challenge")
    }
    return option
  }

  /// Converts the verifications that the caller lists. Those that usherd does not support are
  /// filtered out later, because an event may list some.
  private static func offers(_ available: [Available]?) throws(UsherError) -> [SCADemand.Offer]? {
    guard let available else { return nil }
    guard available.count <= 32,
      available.flatMap({ [$0.method] + ($0.channel.map { [$0] } ?? []) })
        .allSatisfy(SCADemand.Offer.isWord)
    else {
      throw ParamsValidation.wrong(
        "availableVerifications", "must be at most 32 entries of a method and an optional channel")
    }
    return available.map {
      SCADemand.Offer(.init(method: $0.method, channel: $0.channel), target: $0.target)
    }
  }

  package var view: FlowView { process.view }

  package var unknownOutcome: String? { process.unknownOutcome }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    let answer = process.receive(event, at: transition.now)
    return apply(answer, at: transition.now)
  }

  private mutating func apply(_ answer: SCAProcess.Answer, at now: Timestamp) -> Answer {
    // The flow does not make the wallet operation, so a lost value is asked for again. Only the
    // caller can find out whether the event is verified otherwise.
    let isLost = answer == .finish(.answered) && process.isChallenged
    let answer = isLost ? process.unconfirmed(now) : answer
    return answer.flowAnswer { .finish(Completion(grant: nil, result: result($0))) }
  }

  /// Returns the flow's result: the `scaDetails` with which the caller repeats its call to the
  /// wallet API.
  private func result(_ outcome: SCAProcess.Outcome) -> [String: JSONValue] {
    let event = process.terms.event
    var result: [String: JSONValue] = [
      "eventId": .string(event.id), "walletOperationId": .string(event.walletOperationID),
    ]
    switch outcome {
    case .verified(let reason):
      result["status"] = "VERIFIED"
      result["statusReason"] = reason.map { .string($0) }
    case .answered: result["status"] = "UNKNOWN"
    }
    return result
  }
}

extension SCAProcess.Terms {
  init(_ event: PaysafeCall.Event, _ request: SCARequest, _ provider: Provider<PaysafeSettings>) {
    self.init(
      provider: provider.name, event: event, wanted: request.wanted,
      instructions: request.instructions, operation: request.operation,
      pollSeconds: provider.settings.pollSeconds)
  }
}
