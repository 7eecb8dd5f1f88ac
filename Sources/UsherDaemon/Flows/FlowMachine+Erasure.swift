import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Undoes provider calls that succeed after the flow's end, or whose outcome the store refuses.
/// Outlives the flow's machine.
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

/// An event for a flow of any kind: ``FlowEvent`` with the machine's call type erased.
enum EngineEvent: Sendable {
  case input(FlowInput)
  case browser(BrowserEvent)
  /// The flow was not finished before its deadline.
  case expired
  /// Another flow waits for a redirect with the same OAuth `state`.
  case stateInUse
  case called(any ProviderCall, CallOutcome)
  /// A call was not sent, because the credential that it needs now belongs to another provider.
  case providerChanged(UsherError)
  case discovered(Discovery)
  case idTokenVerified(IDTokenVerdict)
  case signed(SignedRequest)
  case woken
  case calledBack(ProviderCallback)
  case daemon(DaemonEvent)
}

/// An effect of a flow of any kind: ``Effect`` with the machine's call type erased.
typealias EngineEffect = Effect<any ProviderCall>

/// The answer of a machine of any kind: ``Answer`` with the machine's call type erased.
typealias EngineAnswer = Answer<any ProviderCall>

// The interface through which the flow engine uses a machine without knowing its type of calls.
extension FlowMachine {
  init(packed: [UInt8], by coder: FlowCoder) throws(UsherError) {
    self = try coder.unpack(Self.self, packed)
  }

  var config: ProviderConfig { provider.config }

  mutating func handle(_ event: EngineEvent, at transition: inout TransitionContext) -> EngineAnswer
  {
    guard let event = Self.typed(event) else { return .ignore }
    return Self.erased(receive(event, at: &transition))
  }

  var compensation: Compensation {
    Compensation(provider: config) { call, outcome in
      (call as? Call).map { Self.cleanUp($0, outcome) } ?? []
    }
  }

  func isSame(as other: any FlowMachine) -> Bool { (other as? Self) == self }

  func packed(by coder: FlowCoder) throws(UsherError) -> PackedMachine {
    PackedMachine(type: Self.self, bytes: try coder.pack(self), coder: coder)
  }

  static func erased(_ answer: Answer<Call>) -> EngineAnswer {
    switch answer {
    case .proceed(let effects): .proceed(effects.map(erased))
    case .finish(let completion): .finish(completion)
    case .fail(let failure, let calls): .fail(failure, cleanUp: calls)
    case .refuse(let field, let message): .refuse(field: field, message: message)
    case .ignore: .ignore
    }
  }

  /// Checks that the machine's type declares calls that use an account's token, because the access
  /// policy relies on that declaration.
  private static func checked(_ call: Call) -> Call {
    assert(
      call.account == nil || needsAccount || accountUse != .none,
      "a flow of kind \(kind) uses an account's token without declaring it")
    return call
  }

  private static func erased(_ effect: Effect<Call>) -> EngineEffect {
    switch effect {
    case .call(let call): .call(checked(call))
    case .discover: .discover
    case .verifyIDToken(let token, let kind, let metadata):
      .verifyIDToken(token, as: kind, metadata: metadata)
    case .sign(let object): .sign(object)
    case .verifySignature(let text): .verifySignature(text)
    case .listen(let expectation): .listen(expectation)
    case .stopListening: .stopListening
    case .ask(let question): .ask(question)
    case .store(let grant): .store(grant)
    case .wake(let delay): .wake(after: delay)
    }
  }

  private static func typed(_ event: EngineEvent) -> FlowEvent<Call>? {
    switch event {
    case .input(let input): .input(input)
    case .browser(let event): .browser(event)
    case .called(let call, let outcome):
      (call as? Call).map { .provider(.called($0, outcome)) }
    case .discovered(let discovery): .provider(.discovered(discovery))
    case .idTokenVerified(let verdict): .provider(.idTokenVerified(verdict))
    case .signed(let request): .provider(.signed(request))
    case .calledBack(let callback): .provider(.calledBack(callback))
    case .daemon(let event): .daemon(event)
    case .woken: .woken
    case .expired, .providerChanged, .stateInUse: nil
    }
  }
}
