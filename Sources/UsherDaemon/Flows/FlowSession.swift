import JSONRPC
import Synchronization
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// One flow in memory: what its owner sees, the machine behind it, and the mail it has to answer.
///
/// Reading takes a lock and no task, so `flow.get` is answered on the event loop. Writing is the
/// runner's alone: one piece of mail at a time, in the order it came.
final class FlowSession: Sendable {
  let id: FlowID
  let owner: Owner
  let provider: ProviderName
  let kind: String
  /// Whose steps these are: shown to this client only, and answered by it. Nil for a flow of before
  /// flows had one: it is any client's of the owner.
  let client: String?
  /// Who runs that client: whose browser, passcode and fingers are meant.
  let uid: UInt32
  /// What it knows its credentials by, where its provider is another one meanwhile.
  let credentials: CredentialTags
  let requestID: String?
  let createdAt: Timestamp

  private let current: Mutex<Current>

  /// What changes with each event, together with those who wait for the change.
  private struct Current {
    var standing: Standing
    var transitions: [Transition]
    var mailbox: [Letter] = []
    var isDraining = false
    var waiters: [Int: @Sendable (Standing) -> Bool] = [:]
    var nextWaiter = 0
    var alarm: Alarm?
    var expiry: Alarm?
    var listener: RedirectListener?
    /// What is left of the machine once the flow has ended.
    var epilogue: Epilogue?
  }

  /// A flow between two events.
  struct Standing: Sendable {
    var machine: (any AnyMachine)?
    var view: FlowView
    var ending: FlowEnding
    var revision: Int
    var updatedAt: Timestamp
    var expiresAt: Timestamp

    var isFinished: Bool { ending.status.isFinished }
  }

  /// What arrives for a flow.
  enum Mail: Sendable {
    case event(EngineEvent)
    case submit(FlowInput, revision: Int, reply: @Sendable (Result<Void, UsherError>) -> Void)
    case cancel(reply: @Sendable (Result<Void, UsherError>) -> Void)
    case callBack(
      ProviderCallback, reply: @Sendable (Result<CallbackVerdict, UsherError>) -> Void)
    case expire
  }

  /// Mail, and the call that it comes from.
  struct Letter: Sendable {
    let mail: Mail
    let cause: CorrelationID?
  }

  /// The journal is kept whole on disk; in memory the last ones, for `flow.wait`.
  private static let rememberedTransitions = 64

  init(
    id: FlowID, owner: Owner, provider: ProviderName, kind: String, client: String? = nil,
    uid: UInt32? = nil, credentials: CredentialTags = CredentialTags(), requestID: String?,
    createdAt: Timestamp, standing: Standing, transitions: [Transition]
  ) {
    self.id = id
    self.owner = owner
    self.provider = provider
    self.kind = kind
    self.client = client
    self.uid = uid ?? owner.uid
    self.credentials = credentials
    self.requestID = requestID
    self.createdAt = createdAt
    current = Mutex(
      Current(
        standing: standing, transitions: transitions.suffix(FlowSession.rememberedTransitions)))
  }

  var person: LocalPerson { LocalPerson(realm: owner.realm, uid: uid) }

  var standing: Standing { current.withLock { $0.standing } }

  var flow: Flow { flow(standing) }

  func flow(_ standing: Standing) -> Flow {
    Flow(
      id: id, provider: provider, kind: kind, key: standing.view.key,
      status: standing.ending.status, state: standing.view.state, revision: standing.revision,
      step: standing.isFinished ? nil : standing.view.step,
      problem: standing.isFinished ? nil : standing.view.problem,
      result: standing.ending.result, failure: standing.ending.failure, requestId: requestID,
      createdAt: createdAt, updatedAt: standing.updatedAt, expiresAt: standing.expiresAt)
  }

  /// Whether a client of the owner may see its step and answer it.
  func isOpen(to client: String) -> Bool { self.client.map { $0 == client } ?? true }

  func transitions(since revision: Int) -> [Transition] {
    current.withLock { $0.transitions.filter { $0.revision > revision } }
  }

  /// Takes the new standing over and tells those who wait. Called after it is on disk.
  func install(_ standing: Standing) {
    let due = current.withLock { current in
      if standing.revision > current.standing.revision {
        let transition = Transition(
          revision: standing.revision, state: standing.view.state, at: standing.updatedAt)
        current.transitions.append(transition)
        current.transitions = current.transitions.suffix(Self.rememberedTransitions)
      }
      current.standing = standing
      return current.waiters
    }
    for (number, waiter) in due where waiter(standing) {
      current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }
  }
}

// The mailbox.
extension FlowSession {
  /// - Returns: Whether the caller must start draining: nobody else is at it.
  func post(_ mail: Mail) -> Bool {
    // What an effect brings is not done for the call that once set it going.
    let letter = Letter(mail: mail, cause: mail.isRequest ? Cause.correlation : nil)
    return current.withLock { current in
      current.mailbox.append(letter)
      defer { current.isDraining = true }
      return !current.isDraining
    }
  }

  var isIdle: Bool { current.withLock { !$0.isDraining } }

  /// The next piece of mail; nil ends the draining.
  func nextMail() -> Letter? {
    current.withLock { current in
      guard !current.mailbox.isEmpty else {
        current.isDraining = false
        return nil
      }
      return current.mailbox.removeFirst()
    }
  }

  /// Takes out what people wait for an answer to, leaving the provider's outcomes in order.
  func takeRequests() -> [Mail] {
    current.withLock { current in
      let requests = current.mailbox.filter(\.mail.isRequest)
      current.mailbox.removeAll(where: \.mail.isRequest)
      return requests.map(\.mail)
    }
  }
}

extension FlowSession.Mail {
  fileprivate var isRequest: Bool {
    switch self {
    case .submit, .cancel, .callBack: true
    case .event, .expire: false
    }
  }
}

// What a flow holds while it lives.
extension FlowSession {
  func setAlarm(_ alarm: Alarm?) { replace(\.alarm, by: alarm)?.cancel() }

  /// Holds no secret: the machine, with its verifier and tokens, is gone by then.
  var epilogue: Epilogue? {
    get { current.withLock { $0.epilogue } }
    set { current.withLock { $0.epilogue = newValue } }
  }

  func setExpiry(_ alarm: Alarm?) { replace(\.expiry, by: alarm)?.cancel() }

  /// - Returns: The listener that was there, for the caller to close.
  func setListener(_ listener: RedirectListener?) -> RedirectListener? {
    replace(\.listener, by: listener)
  }

  private func replace<Value: Sendable>(
    _ member: any WritableKeyPath<Current, Value?> & Sendable, by value: Value?
  ) -> Value? {
    current.withLock { current in
      defer { current[keyPath: member] = value }
      return current[keyPath: member]
    }
  }
}

// Waiting.
extension FlowSession {
  /// Waits until `isDue` holds, the time is over, or the task is cancelled; then tells how the flow
  /// stands.
  func wait(
    _ timeout: Duration, _ alarms: any Alarms,
    until isDue: @escaping @Sendable (Standing) -> Bool
  ) async -> Standing {
    let gate = Gate()
    let number = current.withLock { current -> Int? in
      guard !isDue(current.standing) else { return nil }
      current.nextWaiter += 1
      current.waiters[current.nextWaiter] = { standing in
        guard isDue(standing) else { return false }
        gate.open()
        return true
      }
      return current.nextWaiter
    }
    guard let number else { return standing }
    let alarm = alarms.after(timeout) { gate.open() }
    await gate.pass()
    alarm.cancel()
    current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    return standing
  }
}
