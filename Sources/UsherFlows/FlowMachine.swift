package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// One kind of flow: a pure value that decides.
///
/// It takes an event and answers what to do; it does no I/O, reads no clock and draws no random
/// number. The engine writes the new state to disk, then does what the answer says, and brings the
/// outcome back as another event. So a flow survives `kill -9`, and a test of it is a table.
///
/// A machine ignores what it does not expect: a late outcome, a second redirect, a timer of a state
/// it has left.
package protocol FlowMachine: Codable, Sendable, Equatable {
  /// What `flow.start` takes in `params`; read strictly, a stray member is refused.
  associatedtype Params: Codable & Sendable
  /// What it may ask of the provider.
  associatedtype Call: ProviderCall

  /// `authorize`, `device`, `sca`, …: the flow's kind on the wire.
  static var kind: String { get }
  /// One sentence for people.
  static var summary: String { get }
  /// Whether there is no such flow without an account: where `params.account` names none, the
  /// caller's only one at the provider is meant.
  static var needsAccount: Bool { get }
  /// Whether its calls carry the token of an account though it can do without one.
  static var accountUse: AccountUse { get }
  /// Whether it acts with this account of the owner although `params` name none.
  ///
  /// - Parameter params: As the caller wrote them.
  static func takes(
    _ subject: String, _ attributes: [String: JSONValue], for params: JSONValue
  ) -> Bool
  /// Whether it is told which accounts of the owner there are at the provider.
  static var knowsAccounts: Bool { get }
  /// Whether a `requestId` that is missing or blank is the flow's own to judge: what the SDK would
  /// report of it is a flow that failed.
  static var judgesRequestID: Bool { get }

  /// The provider's configuration the flow began with. It holds no secret, and stays as it is while
  /// the configuration changes.
  var provider: ProviderConfig { get }
  /// What the owner sees now.
  var view: FlowView { get }

  /// Begins a flow.
  ///
  /// - Throws: `invalidParams`, and `permissionDenied` for what the provider's configuration does not
  ///   allow. What the provider or the SDK would report is a flow that failed: the answer `.fail`.
  static func begin(
    _ params: Params, _ origin: FlowContext, at moment: inout TransitionContext
  ) throws(UsherError) -> (Self, Answer<Call>)

  mutating func receive(_ event: FlowEvent<Call>, at moment: inout TransitionContext) -> Answer<
    Call
  >

  /// Whether a call of the provider's is for this flow, by the id and the value it shows.
  ///
  /// - Parameter token: The access token of an account, where it has one.
  func judge(
    _ callback: ProviderCallback, token: (AccountID) -> Secret?
  ) -> CallbackVerdict

  /// What to say to the provider when the flow is cancelled or expires as it stands now: tokens it
  /// holds are revoked.
  var abandoned: [Call] { get }

  /// Whether the provider may be doing just now what the flow is for, so that nobody knows whether it
  /// will have been done when the flow is cancelled or expires as it stands now.
  var isOutcomeUnknown: Bool { get }

  /// What is not known while ``isOutcomeUnknown``; the end of a sentence.
  var doubt: String { get }

  /// The account or the handoff secret that the daemon stores if the flow is cancelled or expires in its present
  /// state. The daemon also stores a handoff secret if the flow fails.
  var keptWhenAbandoned: AbandonedGrant? { get }

  /// The handle of the handoff secret that the flow begins with; nil where it begins with none that only one
  /// flow may have. It is taken from the flow that left it.
  var takenHandoffSecret: String? { get }

  /// What to say to the provider when an outcome arrives after the flow ended: tokens that nobody
  /// will use are revoked.
  static func clearUp(_ call: Call, _ outcome: CallOutcome) -> [Call]

  /// The SDK's own word for a flow its user gave up, or that ran out of time; with `.providerRejected`
  /// for one whose credential is not set, with `.denied` for one from which an account or a consent
  /// was taken away.
  static func word(for ending: Failure.Reason, provider: ProviderName) -> ProviderErrorCode?
}

extension FlowMachine {
  package static var needsAccount: Bool { false }
  package static var accountUse: AccountUse { .none }
  package static func takes(
    _ subject: String, _ attributes: [String: JSONValue], for params: JSONValue
  ) -> Bool { false }
  package static var knowsAccounts: Bool { false }
  package static var judgesRequestID: Bool { false }
  package func judge(
    _ callback: ProviderCallback, token: (AccountID) -> Secret?
  ) -> CallbackVerdict { .notMine }
  package var abandoned: [Call] { [] }
  package var isOutcomeUnknown: Bool { false }
  package var doubt: String { .operationUnknown }
  package var keptWhenAbandoned: AbandonedGrant? { nil }
  package var takenHandoffSecret: String? { nil }
  package static func clearUp(_ call: Call, _ outcome: CallOutcome) -> [Call] { [] }
  package static func word(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? { nil }
}

/// What a flow's owner sees of it; a change of any of these raises the revision.
package struct FlowView: Codable, Sendable, Equatable {
  /// The provider's own word.
  package var state: String
  package var step: Step
  package var problem: Problem?
  package var key: String?

  package init(state: String, step: Step, problem: Problem? = nil, key: String? = nil) {
    self.state = state
    self.step = step
    self.problem = problem
    self.key = key
  }
}

/// What a flow is begun with beside its parameters.
package struct FlowContext: Sendable {
  package var provider: ProviderConfig
  /// The caller's account that `params.account` names, if it names one.
  package var account: KnownAccount?
  /// What the caller knows the flow by; the flow's own id where he named nothing.
  package var requestID: String
  /// The same as the caller wrote it; nil where he named nothing.
  package var statedRequestID: String?
  /// When the flow expires.
  package var endsAt: Timestamp
  /// A UUID for this owner's installation, the same for all his flows at the provider and for
  /// nobody else's: never one for the machine, or one user would be taken for another.
  package var installationID: String
  /// Compares what a caller presents with the provider's credential.
  package var credential: CredentialCheck
  /// The owner's accounts at the provider, oldest first.
  package var accounts: [NamedAccount]
  /// Of ``accounts``.
  package var accountAttributes: [AccountID: [String: JSONValue]] = [:]
  /// Who has started it, for people: the `[[client]]` that matches the caller, or the user's name.
  package var client: String
  /// Of ``account``; empty without one.
  package var attributes: [String: JSONValue]
  /// What earlier flows of the owner's client at the provider have left, and is still good.
  package var handoffSecrets: [HandoffSecret]

  package init(
    provider: ProviderConfig, account: KnownAccount? = nil, requestID: String,
    statedRequestID: String? = nil, endsAt: Timestamp = .latest,
    installationID: String = "00000000-0000-4000-8000-000000000000",
    credential: CredentialCheck = CredentialCheck(nil), accounts: [NamedAccount] = [],
    client: String = "", attributes: [String: JSONValue] = [:], handoffSecrets: [HandoffSecret] = []
  ) {
    self.provider = provider
    self.account = account
    self.requestID = requestID
    self.statedRequestID = statedRequestID
    self.endsAt = endsAt
    self.installationID = installationID
    self.credential = credential
    self.accounts = accounts
    self.client = client
    self.attributes = attributes
    self.handoffSecrets = handoffSecrets
  }
}

/// The provider's credentials as far as a flow may know them: whether something else is the same, and
/// what is wrong with one.
package struct CredentialCheck: Sendable {
  private let credential: Secret?
  private let named: [String: Secret]

  /// - Parameters:
  ///   - credential: Nil for a public client, and where it is not set: nothing is the same.
  ///   - named: Those of the configured ones that are set.
  package init(_ credential: Secret?, named: [String: Secret] = [:]) {
    self.credential = credential
    self.named = named
  }

  package func accepts(_ presented: Secret) -> Bool { credential.map { $0 == presented } ?? false }

  /// Why a credential cannot be used; a sentence that has none of it.
  package func flaw(
    in name: String, of provider: ProviderName, _ judge: (Secret) -> String? = { _ in nil }
  ) -> String? {
    guard let credential = named[name] else { return .missing(name, of: provider) }
    return judge(credential).map { "credential \(name) of provider \(provider) \($0)" }
  }
}

extension String {
  /// Says which credential is not set, and how to set it.
  package static func missing(_ credential: String, of provider: ProviderName) -> String {
    "credential \(credential) of provider \(provider) is not set: "
      + "usherctl credential set \(credential)"
  }
}

/// An account that a flow is about.
package struct KnownAccount: Codable, Sendable, Equatable {
  package var id: AccountID
  package var subject: String

  package init(id: AccountID, subject: String) {
    self.id = id
    self.subject = subject
  }
}

/// An account that a person can choose.
package struct NamedAccount: Codable, Sendable, Equatable {
  package var id: AccountID
  package var subject: String
  package var label: String

  package init(id: AccountID, subject: String, label: String) {
    self.id = id
    self.subject = subject
    self.label = label
  }
}

/// When an event happens, with fresh random bytes to go with it.
package struct TransitionContext: Sendable {
  package let now: Timestamp
  private let entropy: any Entropy

  package init(now: Timestamp, entropy: any Entropy) {
    self.now = now
    self.entropy = entropy
  }

  package mutating func random(_ count: Int) -> [UInt8] { entropy.bytes(count) }
}

/// What happens to a flow.
package enum FlowEvent<Call: ProviderCall>: Sendable, Equatable {
  /// Its owner answered the step. The engine has checked that the input is of the step's type.
  case input(FlowInput)
  /// The browser came back to the loopback listener. The state has been compared.
  case redirected(RedirectAnswer)
  /// The listener is up; the redirect URI to tell the provider.
  case listening(redirectURI: String)
  /// No listener can be had: a port is taken, for example.
  ///
  /// - Parameters:
  ///   - mayReachAnother: Whether the provider's answer may go to another user, who holds the port or
  ///     may hold it.
  ///   - isBusy: Whether the daemon itself is short of file descriptors.
  case listenFailed(String, mayReachAnother: Bool = false, isBusy: Bool = false)
  /// What became of `Effect.call`.
  case called(Call, CallOutcome)
  /// What became of `Effect.discover`.
  case discovered(Discovery)
  /// What became of `Effect.verifyIDToken` or `Effect.verifySignature`.
  case idTokenVerified(IDTokenVerdict)
  /// The time asked for by `Effect.wake` has passed.
  case woken
  /// The provider called, and ``FlowMachine/judge(_:)`` has taken it for this flow's.
  case calledBack(ProviderCallback)
  /// What the daemon itself has to tell: the answer to `Effect.ask` or `Effect.keep`.
  case told(DaemonNews)
  /// The daemon was restarted: what was in flight may or may not have happened. The answer asks
  /// again for what is safe to repeat; for the rest the flow goes to a step that asks the person,
  /// with problem `interrupted`.
  case resumed
}

/// What a machine wants done, after its new state is on disk.
package enum Effect<Call: ProviderCall>: Sendable, Equatable {
  /// Send it; the outcome comes as `.called`. Its deadline is the provider's request time-out.
  case call(Call)
  /// Get the provider's metadata, from memory where it is fresh.
  case discover
  /// Check the signature with the provider's keys; the claims are the machine's to judge.
  case verifyIDToken(Secret, metadata: OIDCMetadata)
  /// Check a signature with the provider's key, which is fetched anew where one from memory does not
  /// fit; answered by `.idTokenVerified`.
  case verifySignature(SignedText)
  /// Listen for the browser until the flow ends or `stopListening`; answered by `.listening`.
  case listen(RedirectExpectation)
  case stopListening
  /// Ask the daemon itself; the answer comes as `.told`.
  case ask(DaemonQuestion)
  /// Keep an account before the flow ends: it is durable together with the state that asks for it,
  /// and then told as ``DaemonNews/kept(_:)``. One an answer at most. After a restart the machine asks
  /// again.
  case keep(AccountGrant)
  /// Wake the flow later. A flow has one timer; a new one replaces it.
  case wake(after: Duration)
}

/// A machine's answer to one event.
package enum Answer<Call: ProviderCall>: Sendable, Equatable {
  /// Go on: keep the new state, then do this, in this order.
  case proceed([Effect<Call>])
  /// Done. The account and its tokens become durable together with the flow's end.
  case finish(Completion)
  /// Done without success; `clearUp` is sent once, but for calls with a ``ProviderCall/revokedToken``.
  case fail(Failure, clearUp: [Call] = [])
  /// The input was no good; the flow stays exactly where it was.
  case refuse(field: String, message: String)
  /// Nothing that concerns this state.
  case ignore
}

/// How a flow succeeds.
package struct Completion: Sendable, Equatable {
  /// What it brought; the engine adds the account's id to the result.
  package var grant: AccountGrant?
  package var result: [String: JSONValue]
  /// What a later flow of the same client may build on.
  package var handoffSecret: HandoffSecret?

  package init(
    grant: AccountGrant?, result: [String: JSONValue] = [:], handoffSecret: HandoffSecret? = nil
  ) {
    self.grant = grant
    self.result = result
    self.handoffSecret = handoffSecret
  }
}

/// A secret that a flow leaves to a later one of the same owner, client and provider. The client knows
/// its name only.
package struct HandoffSecret: Codable, Sendable, Equatable {
  /// The handle that stands in the flow's result. It cannot be guessed.
  package var handle: String
  /// What it is good for, in the machines' own words.
  package var purpose: String
  package var secret: Sealed<Secret>
  package var expiresAt: Timestamp
  /// The tokens that came with the secret, if the secret is an access token.
  package var tokens: TokenSet?

  package init(
    handle: String, purpose: String, secret: Sealed<Secret>, expiresAt: Timestamp,
    tokens: TokenSet? = nil
  ) {
    self.handle = handle
    self.purpose = purpose
    self.secret = secret
    self.expiresAt = expiresAt
    self.tokens = tokens
  }
}
