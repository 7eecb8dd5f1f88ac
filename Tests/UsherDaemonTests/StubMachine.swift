import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A flow that is controlled by the codes submitted to it.
struct StubMachine: FlowMachine {
  typealias Params = NoParams

  static let kind = "stub"
  static let summary = "A flow for tests."
  static let resultMembers: [Schema.Member] = []
  static let example = FlowExample([:], result: [:])
  static let canary = "canary-of-the-machine"

  var provider: Provider<OIDCSettings>
  var probe: String
  var state = "asking"
  var polls = 0
  var secret = Sealed(Secret(canary))
  /// The deadline that the code `end in SECONDS` has set.
  var endsAt: Timestamp?

  var view: FlowView {
    FlowView(
      state: state,
      step: .enterCode(
        .init(
          purpose: .otp, channel: "sms", maskedTarget: "***", expiresAt: .latest,
          resendAt: .latest, alsoAsk: [])))
  }

  static func begin(
    _ params: Params, _ origin: FlowContext<OIDCSettings>, at moment: inout TransitionContext
  ) throws(UsherError) -> (StubMachine, Answer<StubCall>) {
    throw UsherError(.internalError, "begun by the tests only")
  }

  mutating func receive(
    _ event: FlowEvent<StubCall>, at moment: inout TransitionContext
  ) -> Answer<StubCall> {
    switch event {
    case .input(.code(let code, fields: _)) where code.revealed().hasPrefix("end in "):
      endsAt = moment.now + .seconds(Int(code.revealed().dropFirst(7)) ?? 0)
      return move(to: "ending")
    case .input(.code(let code, fields: _)): return typed(code.revealed())
    case .provider(.called(let call, .reply)) where call.name == "link":
      return move(to: "answered link", [.call(self.call("next"))])
    case .provider(.called(let call, .reply)): return move(to: "answered \(call.name)")
    case .provider(.calledBack): return move(to: "called back")
    case .woken: return move(to: "woken")
    case .daemon(.resumed): return move(to: "resumed", [.call(call("again"))])
    case .daemon(.answered(.stored(let account))): return move(to: "stored \(account)")
    case .daemon(.answered(.consents(let grants))):
      return move(to: "may " + grants.sorted().joined(separator: " "))
    case .daemon(.answered(.oneTimeCode(.code))): return move(to: "shown")
    case .daemon(.answered(.oneTimeCode)): return move(to: "not shown")
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  private mutating func typed(_ word: String) -> Answer<StubCall> {
    if word.hasPrefix("ask ") {
      return move(to: "asking", [.ask(.consents(of: AccountID(String(word.dropFirst(4)))))])
    }
    if word.hasPrefix("show ") {
      return move(to: "asking", [.ask(.oneTimeCode(of: AccountID(String(word.dropFirst(5)))))])
    }
    if word.hasPrefix("rely ") {
      state = "done"
      return .finish(
        Completion(
          grant: .consented(["lastname": "Lovelace"], granted: ["lastname"]),
          result: ["profile": ["firstname": "Ada"]],
          preconditions: .init(
            account: AccountID(String(word.dropFirst(5))), consents: ["read.firstname"])))
    }
    switch word {
    case "store": return move(to: "storing", [.store(.consented(["firstname": "Ada"]))])
    case "chain": return move(to: "calling", [.call(call("link"))])
    case "call": return move(to: "calling", [.call(call("effect"))])
    case "nap": return move(to: "napping", [.wake(after: .seconds(5))])
    case "poll":
      polls += 1
      return .proceed([])
    case "bad":
      state = "spoiled"
      return .refuse(field: "code", message: "this is no code")
    case "odd":
      state = "spoiled"
      return .ignore
    case "done":
      state = "done"
      return .finish(Completion(grant: .sample(), result: ["word": "well"]))
    case "done by finger":
      state = "done"
      return .finish(Completion(grant: .sample(), savesFingers: true))
    case "hand on":
      state = "done"
      let secret = HandoffSecret(
        handle: "handle", purpose: "later flows", secret: Sealed(Secret("handed on")),
        expiresAt: .latest)
      return .finish(Completion(grant: nil, handoffSecret: secret))
    case "fail":
      state = "failed"
      return .fail(.rejected("no"), cleanUp: [call("undo")])
    case "fail with a token":
      state = "failed"
      return .fail(
        .rejected("no"), cleanUp: [StubCall(name: "undo", probe: probe, token: "token-1")])
    case "late":
      state = "late"
      return .fail(
        Failure(
          reason: .exchangeTimedOut, title: "Too late", message: "too late", retryable: true))
    default: return move(to: word)
    }
  }

  private mutating func move(
    to state: String, _ effects: [Effect<StubCall>] = []
  ) -> Answer<StubCall> {
    self.state = state
    return .proceed(effects)
  }

  /// Returns the verdict that the authorization of the callback names.
  func validate(
    _ callback: ProviderCallback, token: (AccountID) -> Secret?
  ) -> CallbackVerdict {
    switch callback.authorization.revealed() {
    case "match": .match
    case "conflict": .conflict
    case "unauthorized": .unauthorized
    default: .noMatch
    }
  }

  var expiryFailure: Failure? { endsAt.map { _ in .rejected("the machine's time is over") } }

  var unknownOutcome: String? {
    switch state {
    case "in the dark": .operationUnknown
    case "sending": .perhapsSent("an SMS")
    default: nil
    }
  }

  var grantIfAbandoned: AbandonedGrant? {
    guard state == "earned" else { return nil }
    return AbandonedGrant(content: .account(.sample()), message: "the token is kept")
  }

  private func call(_ name: String) -> StubCall { StubCall(name: name, probe: probe) }

  var callsIfAbandoned: [StubCall] { [call("abandon")] }

  static func cleanUp(_ call: StubCall, _ outcome: CallOutcome) -> [StubCall] {
    guard case .reply = outcome else { return [] }
    return [StubCall(name: "revoke", probe: call.probe, token: call.token)]
  }
}

/// A call that is never sent. When it would be sent, its probe records the call.
struct StubCall: ProviderCall {
  let name: String
  let probe: String
  /// The token that the call revokes.
  var token: String?

  var revokedToken: RevokedToken? {
    token.map { RevokedToken(secret: Secret($0), kind: .refreshToken) }
  }

  func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    CallProbe.named(probe)?.saw(name)
    throw UsherError(.internalError, "nothing is sent in tests")
  }
}

/// Records the calls of one test's flows together with the state on disk at that time.
final class CallProbe: Sendable {
  struct Sight: Sendable, Equatable {
    var call: String
    /// Revision, state and number of journal rows on disk.
    var revision: Int?
    var state: String?
    var journal: Int
  }

  /// Weak, because a store that is kept alive keeps its files open.
  private struct Weak {
    weak var probe: CallProbe?
  }

  private static let probes = Mutex<[String: Weak]>([:])

  static func named(_ name: String) -> CallProbe? { probes.withLock { $0[name]?.probe } }

  private let name: String

  private let store: Store
  private let sights = Mutex<[Sight]>([])

  init(_ name: String, store: Store) {
    self.store = store
    self.name = name
    Self.probes.withLock { $0[name] = Weak(probe: self) }
  }

  deinit { Self.probes.withLock { _ = $0.removeValue(forKey: name) } }

  var seen: [Sight] { sights.withLock { $0 } }

  func saw(_ call: String) {
    let row = try? store.loadFlows().first
    let journal = (try? store.loadJournal().count) ?? -1
    sights.withLock {
      $0.append(Sight(call: call, revision: row?.revision, state: row?.state, journal: journal))
    }
  }
}
