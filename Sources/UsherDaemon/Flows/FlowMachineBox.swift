import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// A flow machine of any kind, with its type erased for the engine.
protocol AnyFlowMachine: Sendable {
  var view: FlowView { get }
  var provider: ProviderConfig { get }

  mutating func receive(_ event: EngineEvent, at moment: inout TransitionContext) -> EngineAnswer
  func providerErrorCode(for ending: Failure.Reason) -> ProviderErrorCode?
  /// The provider calls to send if the flow is cancelled or expires now.
  var callsIfAbandoned: [any ProviderCall] { get }
  func validate(_ callback: ProviderCallback, token: (AccountID) -> Secret?) -> CallbackVerdict
  /// Whether the outcome at the provider would stay unknown if the flow ended now.
  var isOutcomeUnknown: Bool { get }
  /// The clause that ends a failure message and names the unknown outcome.
  var unknownOutcomeClause: String { get }
  /// The account or secret that the daemon stores if the flow is cancelled or expires now, if any.
  var grantIfAbandoned: AbandonedGrant? { get }
  /// The handle of the handoff secret that the flow starts with and that no other flow gets.
  var consumedHandoffSecret: String? { get }
  var compensation: Compensation { get }
  func isSame(as other: any AnyFlowMachine) -> Bool
  func packed(by coder: FlowCoder) throws(UsherError) -> PackedMachine
  init(packed: [UInt8], by coder: FlowCoder) throws(UsherError)
}

/// The clean-up that undoes calls that succeed after the flow's end.
final class Compensation: Sendable {
  let provider: ProviderConfig
  let cleanUp: @Sendable (any ProviderCall, CallOutcome) -> [any ProviderCall]

  init(
    provider: ProviderConfig,
    cleanUp: @escaping @Sendable (any ProviderCall, CallOutcome) -> [any ProviderCall]
  ) {
    self.provider = provider
    self.cleanUp = cleanUp
  }
}

/// ``FlowEvent`` with the machine's call type erased.
enum EngineEvent: Sendable {
  case input(FlowInput)
  case browser(BrowserEvent)
  /// The flow was not finished in time.
  case expired
  /// Another flow waits for a redirect with the same state.
  case stateTaken
  case called(any ProviderCall, CallOutcome)
  /// The call was not sent: the credential now belongs to another provider.
  case overtaken(UsherError)
  case discovered(Discovery)
  case idTokenVerified(IDTokenVerdict)
  case woken
  case calledBack(ProviderCallback)
  case daemon(DaemonEvent)
}

/// ``Effect`` with the machine's call type erased.
enum EngineEffect: Sendable {
  case call(any ProviderCall)
  case discover
  case verifyIDToken(Secret, metadata: OIDCMetadata)
  case verifySignature(SignedText)
  case listen(RedirectExpectation)
  case stopListening
  case ask(DaemonQuestion)
  case store(AccountGrant)
  case wake(after: Duration)
}

/// ``Answer`` with the machine's call type erased.
enum EngineAnswer: Sendable {
  case proceed([EngineEffect])
  case finish(Completion)
  case fail(Failure, cleanUp: [any ProviderCall])
  case refuse(field: String, message: String)
  case ignore
}

struct FlowMachineBox<Machine: FlowMachine>: AnyFlowMachine {
  var machine: Machine

  init(machine: Machine) { self.machine = machine }

  init(packed: [UInt8], by coder: FlowCoder) throws(UsherError) {
    machine = try coder.unpack(Machine.self, packed)
  }

  var view: FlowView { machine.view }
  var provider: ProviderConfig { machine.provider.config }

  mutating func receive(_ event: EngineEvent, at moment: inout TransitionContext) -> EngineAnswer {
    guard let event = Self.typed(event) else { return .ignore }
    return Self.erased(machine.receive(event, at: &moment))
  }

  func providerErrorCode(for ending: Failure.Reason) -> ProviderErrorCode? {
    Machine.providerErrorCode(for: ending, provider: provider.name)
  }

  func validate(_ callback: ProviderCallback, token: (AccountID) -> Secret?) -> CallbackVerdict {
    machine.validate(callback, token: token)
  }

  var callsIfAbandoned: [any ProviderCall] { machine.callsIfAbandoned }
  var isOutcomeUnknown: Bool { machine.isOutcomeUnknown }
  var unknownOutcomeClause: String { machine.unknownOutcomeClause }
  var grantIfAbandoned: AbandonedGrant? { machine.grantIfAbandoned }
  var consumedHandoffSecret: String? { machine.consumedHandoffSecret }

  var compensation: Compensation {
    Compensation(provider: provider) { call, outcome in
      (call as? Machine.Call).map { Machine.cleanUp($0, outcome) } ?? []
    }
  }

  func isSame(as other: any AnyFlowMachine) -> Bool {
    (other as? FlowMachineBox<Machine>)?.machine == machine
  }

  func packed(by coder: FlowCoder) throws(UsherError) -> PackedMachine {
    PackedMachine(type: Self.self, bytes: try coder.pack(machine), coder: coder)
  }

  static func erased(_ answer: Answer<Machine.Call>) -> EngineAnswer {
    switch answer {
    case .proceed(let effects): .proceed(effects.map(erased))
    case .finish(let completion): .finish(completion)
    case .fail(let failure, let calls): .fail(failure, cleanUp: calls)
    case .refuse(let field, let message): .refuse(field: field, message: message)
    case .ignore: .ignore
    }
  }

  /// The access policy trusts the machine's type: a call with an account's token must be declared
  /// there.
  private static func checked(_ call: Machine.Call) -> Machine.Call {
    assert(
      call.account == nil || Machine.needsAccount || Machine.accountUse != .none,
      "a flow of kind \(Machine.kind) uses an account's token without declaring it")
    return call
  }

  private static func erased(_ effect: Effect<Machine.Call>) -> EngineEffect {
    switch effect {
    case .call(let call): .call(checked(call))
    case .discover: .discover
    case .verifyIDToken(let token, let metadata): .verifyIDToken(token, metadata: metadata)
    case .verifySignature(let text): .verifySignature(text)
    case .listen(let expectation): .listen(expectation)
    case .stopListening: .stopListening
    case .ask(let question): .ask(question)
    case .store(let grant): .store(grant)
    case .wake(let delay): .wake(after: delay)
    }
  }

  private static func typed(_ event: EngineEvent) -> FlowEvent<Machine.Call>? {
    switch event {
    case .input(let input): .input(input)
    case .browser(let event): .browser(event)
    case .called(let call, let outcome):
      (call as? Machine.Call).map { .provider(.called($0, outcome)) }
    case .discovered(let discovery): .provider(.discovered(discovery))
    case .idTokenVerified(let verdict): .provider(.idTokenVerified(verdict))
    case .calledBack(let callback): .provider(.calledBack(callback))
    case .daemon(let event): .daemon(event)
    case .woken: .woken
    case .expired, .overtaken, .stateTaken: nil
    }
  }
}
