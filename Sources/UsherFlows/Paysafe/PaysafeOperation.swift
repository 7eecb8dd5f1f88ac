package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Makes a call to the wallet API with the customer's token, and with the customer's approval if
/// the wallet demands that (provider contract §2.5, §2.6).
///
/// The call that is made is exactly the call that was approved. A call that changes something is
/// never repeated if it may have been performed.
package struct PaysafeOperation: FlowMachine, RetryingMachine {
  package typealias Event = FlowEvent<PaysafeCall>
  package typealias Answer = UsherFlows.Answer<PaysafeCall>
  package static let kind = "operation"
  package static let summary =
    "Make a wallet call, with the customer's approval if required."
  package static let needsAccount = true

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The customer's account.
    package var account: AccountID?
    /// GET, POST, PUT, PATCH or DELETE.
    package var method: String
    /// The path below the provider's base URL. It begins with a slash and may have a query.
    package var path: String
    /// The JSON body of the call; absent if it has none.
    package var body: [String: JSONValue]?
    /// A description of the operation for the customer who approves it.
    package var operation: Operation?
    /// The verification to use. If absent, the customer chooses.
    package var verification: PaysafeCall.Verification?
    /// The URL to which the provider's approval page sends the browser back: https, or http on the
    /// loopback.
    package var returnUrl: String?
    /// The language of messages to the customer, such as `en` or `en-GB`.
    package var language: String?
    /// The party that asks the customer for approval. Default: `flow`.
    package var approval: Approver?
    /// The event that the customer has approved already. With it, `approval` is `caller`.
    package var scaDetails: ApprovedEvent?
  }

  package enum Approver: String, Codable, Sendable, Equatable, CaseIterable {
    /// The flow asks the customer, then repeats the call.
    case flow
    /// The caller: the flow ends with the wallet's demand in its result.
    case caller
  }

  /// An event that the customer has approved in another flow, as the wallet's reply named it.
  package struct ApprovedEvent: Codable, Sendable, Equatable, SchemaDocumented {
    /// The id of the event.
    package var eventId: String
    /// The id of the wallet operation.
    package var walletOperationId: String
    /// The place in which the wallet expects the approval: `header` or `body`. Default: `body` if
    /// the call has one.
    package var form: PaysafeCall.Approval.Form?
  }

  package let provider: Provider<PaysafeSettings>
  private let account: AccountID
  private let operation: WalletOperation
  private let wanted: PaysafeCall.Verification?
  private let instructions: PaysafeCall.Instructions
  /// The description of the operation that the customer sees and approves; nil if the caller gave
  /// none.
  private let shown: Operation?
  /// Whether a demand for approval ends the flow. Nil means false.
  private let returnsDemand: Bool?
  private var state: State
  var problem: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// Makes the call without an approval. Next: approving, or the end.
    case performing(RetryBackoff)
    /// The customer approves the operation by SCA. Next: retrying, or the end.
    case approving(RequiredApproval, SCAProcess)
    /// Makes the call with the approval. Next: approving, or the end.
    case retrying(RequiredApproval, RetryBackoff)
  }

  /// The approval that the wallet demands, with the digest of the operation.
  private struct RequiredApproval: Codable, Sendable, Equatable {
    var approval: PaysafeCall.Approval
    /// The digest of the operation when the customer was asked to approve it.
    let digest: String
    /// How often the wallet has demanded an approval for this operation, this time included.
    let round: Int
    /// The process to continue if the wallet demands the approval again, because only this call
    /// tells whether the event is verified; nil if Paysafe says that it is verified.
    var unconfirmed: SCAProcess?
    /// True if the caller did not say where the wallet expects the approval.
    var isFormGuessed: Bool?
  }

  /// The maximum number of approvals that the wallet may demand for one operation.
  package static let maxRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<PaysafeSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (PaysafeOperation, Answer) {
    let operation = try WalletOperation(method: params.method, path: params.path, body: params.body)
    let request = try SCARequest(
      context, verification: params.verification, returnURL: params.returnUrl,
      language: params.language, operation: params.operation)
    guard context.provider.settings.operations.contains(where: { $0.matches(operation.name) })
    else {
      throw UsherError(
        .permissionDenied,
        "the operations of provider \(context.provider.name) do not include \(operation.name)")
    }
    var flow = PaysafeOperation(
      provider: context.provider, account: request.account, operation: operation,
      wanted: request.wanted, instructions: request.instructions, shown: request.operation,
      returnsDemand: params.approval == .caller || params.scaDetails != nil ? true : nil,
      state: .performing(RetryBackoff()))
    let approved = try params.scaDetails.map { event throws(UsherError) in
      try flow.approved(event)
    }
    let answer = flow.call(approved, RetryBackoff())
    return (flow, answer)
  }

  private func approved(_ event: ApprovedEvent) throws(UsherError) -> RequiredApproval {
    let approval = PaysafeCall.Approval(
      eventID: try SCARequest.identifier(event.eventId, "scaDetails.eventId"),
      walletOperationID: try SCARequest.identifier(
        event.walletOperationId, "scaDetails.walletOperationId"),
      form: event.form ?? .body)
    return RequiredApproval(
      approval: approval, digest: operation.digest(showing: shown), round: 0,
      isFormGuessed: event.form == nil ? true : nil)
  }

  package var view: FlowView {
    switch state {
    case .performing: waiting("performing", key: nil)
    case .approving(_, let process): process.view
    case .retrying(let required, _): waiting("retrying", key: required.approval.eventID)
    }
  }

  private func waiting(_ state: String, key: String?) -> FlowView {
    FlowView(
      state: state, step: .wait(.init(for: "the wallet's answer")), problem: problem, key: key)
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .performing(let retrying): return calling(event, nil, retrying, transition.now)
    case .retrying(let required, let retrying):
      return calling(event, required, retrying, transition.now)
    case .approving(let required, var process):
      let answer = process.receive(event, at: transition.now)
      state = .approving(required, process)
      return approving(answer, required)
    }
  }
}

// MARK: - The call

extension PaysafeOperation {
  package var unknownOutcome: String? {
    switch state {
    case .performing(let retrying), .retrying(_, let retrying):
      operation.isSafe || retrying.isPaused ? nil : .operationUnknown
    case .approving(_, let process): process.unknownOutcome
    }
  }

  /// Makes the call to the wallet.
  ///
  /// - Parameter required: The approval that the call carries; nil for the first attempt.
  private mutating func call(_ required: RequiredApproval?, _ retrying: RetryBackoff) -> Answer {
    if let required {
      // Digests are compared in constant time, like all secrets.
      guard Secret(required.digest) == Secret(operation.digest(showing: shown)) else {
        return .fail(.operationChanged)
      }
    }
    setCalling(required, retrying.resumed)
    return .proceed([.call(.operation(operation, account: account, approval: required?.approval))])
  }

  private mutating func setCalling(_ required: RequiredApproval?, _ retrying: RetryBackoff) {
    state = required.map { .retrying($0, retrying) } ?? .performing(retrying)
  }

  private mutating func calling(
    _ event: Event, _ required: RequiredApproval?, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(
      .called(.operation(operation, account: account, approval: required?.approval), let outcome))
    where !retrying.isPaused:
      return answered(outcome, required, retrying, now)
    case .woken where !retrying.isPaused: return .ignore
    case .woken: return call(required, retrying)
    // During a pause no call is in progress, so a call repeats nothing.
    case .daemon(.resumed):
      guard operation.isSafe || retrying.isPaused else { return .fail(.interruptedByRestart) }
      return call(required, retrying)
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ required: RequiredApproval?, _ retrying: RetryBackoff,
    _ now: Timestamp
  ) -> Answer {
    switch outcome {
    case .reply(let reply):
      switch SCADemand.find(in: reply) {
      case .demand(let demand) where returnsDemand == true:
        return returnOrRepeat(demand, reply, required)
      case .demand(let demand): return approve(demand, after: required, now)
      case .unreadable(let message): return .fail(.protocolError(message))
      case nil: return answered(reply, required, retrying)
      }
    case .unreachable(let message, let sent):
      guard operation.isSafe || !sent else { return .fail(.unknown(message)) }
      return callLater(required, retrying, .unreachable(message), nil)
    case .unreadable(let message):
      return .fail(.protocolError(operation.isSafe ? message : Failure.outcomeUnknown(message)))
    case .noToken(let message): return .fail(.loginRequired(message))
    }
  }

  /// Handles a reply that demands no SCA. A final reply of the wallet is passed on to the caller,
  /// who interprets it.
  private mutating func answered(
    _ reply: HTTPReply, _ required: RequiredApproval?, _ retrying: RetryBackoff
  ) -> Answer {
    let message = "the provider answers HTTP \(reply.status)"
    switch reply.status {
    // A rate-limited call was not performed.
    case 429: return callLater(required, retrying, .unreachable(message), reply.retryAfter)
    case 100..<200, 408, 500...:
      // The reply is not final or may come from a proxy, so the outcome of the call is unknown.
      guard operation.isSafe else { return .fail(.unknown(message)) }
      return callLater(required, retrying, .unreachable(message), reply.retryAfter)
    default: return finish(reply)
    }
  }

  /// Ends the flow with the wallet's demand. If the wallet demands the approval of the same event
  /// in the other form, the call is made once more with it, because it was not performed.
  private mutating func returnOrRepeat(
    _ demand: SCADemand, _ reply: HTTPReply, _ required: RequiredApproval?
  ) -> Answer {
    guard var required, required.isFormGuessed == true, demand.form != required.approval.form,
      demand.eventID == required.approval.eventID
    else { return finish(reply, demand) }
    required.isFormGuessed = nil
    required.approval.form = demand.form
    return call(required, RetryBackoff())
  }

  /// Ends the flow with the wallet's reply as its result. Fails if a body that claims to be JSON
  /// cannot be parsed, because it could be anything, even a demand for SCA.
  private func finish(_ reply: HTTPReply, _ demand: SCADemand? = nil) -> Answer {
    let body = try? JSONValue(parsing: reply.body)
    if body == nil, !reply.body.isEmpty, reply.saysJSON {
      let message = "the wallet's answer cannot be read"
      return .fail(.protocolError(operation.isSafe ? message : Failure.outcomeUnknown(message)))
    }
    var result: [String: JSONValue] = [
      "status": .integer(Int64(reply.status)), "body": body ?? .null,
    ]
    result["scaDetails"] = demand?.json
    return .finish(Completion(grant: nil, result: result))
  }

  private mutating func callLater(
    _ required: RequiredApproval?, _ retrying: RetryBackoff, _ failure: Failure, _ after: Duration?
  ) -> Answer {
    let pause = pause(retrying, failure, after: after) { $0.setCalling(required, $1) }
    guard let pause else { return .fail(failure) }
    problem?.retryAfterMs = Int(pause.milliseconds)
    return .proceed([.wake(after: pause)])
  }
}

// MARK: - The approval

extension PaysafeOperation {
  private mutating func approve(
    _ demand: SCADemand, after last: RequiredApproval?, _ now: Timestamp
  ) -> Answer {
    if var last, var process = last.unconfirmed, demand.eventID == last.approval.eventID {
      last.unconfirmed = nil
      let answer = process.unconfirmed(now)
      state = .approving(last, process)
      return approving(answer, last)
    }
    let round = (last?.round ?? 0) + 1
    guard round <= Self.maxRounds else { return .fail(.neverApproved) }
    let required = RequiredApproval(
      approval: .init(
        eventID: demand.eventID, walletOperationID: demand.walletOperationID, form: demand.form),
      digest: operation.digest(showing: shown), round: round)
    let event = PaysafeCall.Event(
      account: account, id: demand.eventID, walletOperationID: demand.walletOperationID)
    let (process, answer) = SCAProcess.begin(
      .init(
        provider: provider.name, event: event, wanted: wanted, instructions: instructions,
        operation: shown, pollSeconds: provider.settings.pollSeconds),
      offers: demand.available, expiresAt: demand.expiresAt,
      // A verified event takes no further challenge, because another attempt could undo the
      // approval.
      asksFirst: demand.eventID == last?.approval.eventID, at: now)
    state = .approving(required, process)
    problem = nil
    return approving(answer, required)
  }

  private mutating func approving(_ answer: SCAProcess.Answer, _ required: RequiredApproval)
    -> Answer
  {
    answer.flowAnswer { outcome in
      var required = required
      if case .answered = outcome, case .approving(_, let process) = state {
        required.unconfirmed = process
      }
      return call(required, RetryBackoff())
    } failed: {
      .fail($0.retryableWithNewEvent)
    }
  }
}

extension HTTPReply {
  /// Whether the content type of the reply is JSON (RFC 8259 §11, RFC 6839 §3.1).
  fileprivate var saysJSON: Bool {
    let type = headers["content-type"]?.lowercased().prefix { $0 != ";" } ?? ""
    return type.hasPrefix("application/json") || type.hasSuffix("+json")
  }
}

extension Failure {
  /// The same failure. It is retryable if a new flow, for which the wallet creates a new event, can
  /// succeed.
  fileprivate var retryableWithNewEvent: Failure {
    var failure = self
    if [.denied, .attemptsExhausted, .expired].contains(reason) { failure.retryable = true }
    return failure
  }

  fileprivate static func outcomeUnknown(_ message: String) -> String {
    "\(message); whether the operation was performed is not known"
  }

  /// The failure of a flow whose call may have been performed. It is not retryable, so that no
  /// caller simply repeats the call.
  fileprivate static func unknown(_ message: String) -> Failure {
    .unreachable(outcomeUnknown(message), retryable: false)
  }

  fileprivate static let interruptedByRestart = Failure.unknown(
    "the daemon was restarted while the call was under way")

  fileprivate static let operationChanged = Failure(
    reason: .invalidRequest, title: "Not what was approved",
    message: "the operation is no longer the one that was approved", retryable: false)

  fileprivate static let neverApproved = Failure.rejected(
    "the wallet keeps asking for approval of the operation")
}
