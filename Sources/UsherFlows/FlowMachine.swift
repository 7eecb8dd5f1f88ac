package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// A state machine for one kind of flow: a pure value.
///
/// A machine receives an event and returns an `Answer` that says what to do. It does no I/O, reads
/// no clock and draws no random numbers. The engine writes the new state to disk, performs the
/// effects of the answer, and delivers their outcome as another event. A flow therefore survives
/// `kill -9`, and its tests are tables of events and answers.
///
/// A machine ignores unexpected events: a late outcome, a second redirect, a timer of an earlier
/// state.
package protocol FlowMachine: Codable, Sendable, Equatable {
  /// The `params` of `flow.start`. Decoding is strict: an unknown member is rejected. Their
  /// documentation comments are the descriptions in the OpenRPC document.
  associatedtype Params: Codable & Sendable & SchemaDocumented
  /// The calls that the machine may make to the provider.
  associatedtype Call: ProviderCall

  /// The flow's kind on the wire: `authorize`, `device`, `sca`, ….
  static var kind: String { get }
  /// The description of the flow for users, in one sentence.
  static var summary: String { get }
  /// The members of the result of a flow that succeeds. ``Schema/Member/account`` is one of them if
  /// the flow stores an account: the engine adds it to ``Completion/result``.
  static var resultMembers: [Schema.Member] { get }
  /// An example of the params and of the result, for the OpenRPC document.
  static var example: FlowExample { get }
  /// Whether the flow requires an account. If `params.account` is missing, the daemon uses the
  /// caller's only account at the provider.
  static var needsAccount: Bool { get }
  /// When calls of a flow that does not require an account carry an account's token.
  static var accountUse: AccountUse { get }
  /// Returns whether the flow uses this account of the owner although `params` name no account.
  ///
  /// - Parameter params: The params exactly as the caller sent them.
  static func acceptsAccount(
    _ subject: String, _ attributes: [String: JSONValue], for params: JSONValue
  ) -> Bool
  /// Whether the daemon passes the owner's accounts at the provider in ``FlowContext/accounts``.
  static var knowsAccounts: Bool { get }
  /// Whether the machine itself validates a missing or blank `requestId`, because the provider's
  /// SDK reports that as a failed flow. Otherwise the engine rejects the request.
  static var judgesRequestID: Bool { get }

  /// The provider's configuration at the start of the flow. It holds no secret, and later changes
  /// of the configuration do not affect it.
  var provider: Provider<Call.Settings> { get }
  /// The present state and step of the flow, as the client that started it sees them.
  var view: FlowView { get }

  /// Starts a flow.
  ///
  /// - Throws: `invalidParams`, or `permissionDenied` if the provider's configuration does not
  ///   allow the request. An error that the provider or the SDK would report is not thrown: the
  ///   flow fails with the answer `.fail`.
  static func begin(
    _ params: Params, _ context: FlowContext<Call.Settings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (Self, Answer<Call>)

  mutating func receive(_ event: FlowEvent<Call>, at transition: inout TransitionContext) -> Answer<
    Call
  >

  /// Returns whether a call that the provider made to the daemon is for this flow, judged by the
  /// call's request id and authorization.
  ///
  /// - Parameter token: Returns the access token of an account, if it has one.
  func validate(_ callback: ProviderCallback, token: (AccountID) -> Secret?) -> CallbackVerdict

  /// The time at which the flow expires in its present state; nil if that is the time that was set
  /// before, at first ``FlowContext/endsAt``.
  var endsAt: Timestamp? { get }

  /// The failure of the flow if it expires in its present state; nil if it is the engine's own,
  /// with the ``providerErrorCode(for:provider:)`` of an expired flow.
  var expiryFailure: Failure? { get }

  /// The calls that the engine makes if the flow is cancelled or expires in its present state, or
  /// ends because the store refuses its next one, for example to revoke tokens that it holds.
  var callsIfAbandoned: [Call] { get }

  /// The clause that says what may have happened if the flow is cancelled or expires in its present
  /// state; nil if the provider performs no operation of the flow at present.
  ///
  /// The clause is appended to the message of the flow's failure after a semicolon: "…; an SMS may
  /// have been sent all the same".
  var unknownOutcome: String? { get }

  /// The account or the handoff secret (a secret for a later flow) that the daemon stores if the
  /// flow is cancelled or expires in its present state. The daemon also stores a handoff secret if
  /// the flow fails.
  var grantIfAbandoned: AbandonedGrant? { get }

  /// The handle of the handoff secret that the flow starts with and that no other flow may use; nil
  /// if there is none. The daemon removes the secret when the flow starts.
  var consumedHandoffSecret: String? { get }

  /// Returns the calls to make if an outcome arrives after the flow ended, or if its effect on the
  /// flow cannot be stored, for example to revoke tokens that will never be used.
  static func cleanUp(_ call: Call, _ outcome: CallOutcome) -> [Call]

  /// Returns the error code of the provider's SDK for a flow that ended without an error from the
  /// provider: cancelled, expired, `.providerRejected` if a credential is not set, or `.denied` if
  /// an account or consent was removed meanwhile.
  static func providerErrorCode(for ending: Failure.Reason, provider: ProviderName)
    -> ProviderErrorCode?
}

extension FlowMachine {
  package static var needsAccount: Bool { false }
  package static var accountUse: AccountUse { .none }
  package static func acceptsAccount(
    _ subject: String, _ attributes: [String: JSONValue], for params: JSONValue
  ) -> Bool { false }
  package static var knowsAccounts: Bool { false }
  package static var judgesRequestID: Bool { false }
  package func validate(
    _ callback: ProviderCallback, token: (AccountID) -> Secret?
  ) -> CallbackVerdict { .noMatch }
  package var endsAt: Timestamp? { nil }
  package var expiryFailure: Failure? { nil }
  package var callsIfAbandoned: [Call] { [] }
  package var unknownOutcome: String? { nil }
  package var isOutcomeUnknown: Bool { unknownOutcome != nil }
  package var grantIfAbandoned: AbandonedGrant? { nil }
  package var consumedHandoffSecret: String? { nil }
  package static func cleanUp(_ call: Call, _ outcome: CallOutcome) -> [Call] { [] }
  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? { nil }
}

/// The part of a flow that its owner sees. If any member changes, the flow gets a new revision.
package struct FlowView: Codable, Sendable, Equatable {
  /// The name of the flow's state, as the provider's SDK calls it.
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

/// The context that a flow starts with, in addition to its parameters.
package struct FlowContext<Settings: ProviderTypeSettings>: Sendable {
  package var provider: Provider<Settings>
  /// The caller's account that `params.account` names, if it names one.
  package var account: KnownAccount?
  /// The id by which the caller knows the flow; the flow's own id if the caller gave none.
  package var requestID: String
  /// The `requestId` as the caller sent it; nil if it sent none.
  package var statedRequestID: String?
  /// The time at which the flow expires, unless its machine sets another
  /// (``FlowMachine/endsAt``).
  package var endsAt: Timestamp
  /// A UUID of the owner's installation. It is the same for all flows of the owner at the provider,
  /// and different for each owner: an id of the machine would make the provider confuse its users.
  package var installationID: String
  /// Compares a value from a caller with the configured client credential.
  package var credential: CredentialCheck
  /// The owner's accounts at the provider, oldest first.
  package var accounts: [NamedAccount]
  /// The attributes of each of ``accounts``, by account id.
  package var accountAttributes: [AccountID: [String: JSONValue]] = [:]
  /// The name of the client that started the flow, for users: that of the `[[client]]` that matches
  /// the caller, or the user's name.
  package var client: String
  /// The attributes of ``account``; empty if ``account`` is nil.
  package var attributes: [String: JSONValue]
  /// What ``account`` has at the provider, if a sign-in must not take it from other programs.
  package var granted: GrantedAccess?
  /// The verified ID token of ``account``; nil if there is none, or if the caller may not have it.
  package var idToken: Sealed<Secret>?
  /// The caller's account at another provider, by whose assertion this one issues tokens; nil if
  /// the flow needs none. The caller may have its ID token.
  package var identity: KnownAccount?
  /// The unexpired handoff secrets that earlier flows of the same owner, client and provider
  /// stored.
  package var handoffSecrets: [HandoffSecret]

  package init(
    provider: Provider<Settings>, account: KnownAccount? = nil, requestID: String,
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

/// Checks the provider's credentials without disclosing them: compares a value with the client
/// credential, and reports why a named credential cannot be used.
package struct CredentialCheck: Sendable {
  private let credential: Secret?
  private let named: [String: Secret]

  /// Creates a check against the provider's present credentials.
  ///
  /// - Parameters:
  ///   - credential: The client credential; nil for a public client, or if it is not set. Nothing
  ///     equals nil.
  ///   - named: The configured credentials that are set, by name.
  package init(_ credential: Secret?, named: [String: Secret] = [:]) {
    self.credential = credential
    self.named = named
  }

  package var isSet: Bool { credential != nil }

  package func accepts(_ presented: Secret) -> Bool { credential.map { $0 == presented } ?? false }

  /// Returns why the credential cannot be used, as a sentence without any part of the credential;
  /// nil if it can be used.
  package func flaw(
    in name: String, of provider: ProviderName, _ validate: (Secret) -> String? = { _ in nil }
  ) -> String? {
    guard let credential = named[name] else { return .missing(name, of: provider) }
    return validate(credential).map { "credential \(name) of provider \(provider) \($0)" }
  }
}

extension String {
  /// Returns the message that a credential is not set, and how to set it.
  package static func missing(_ credential: String, of provider: ProviderName) -> String {
    guard !RegisteredClient.isCredentialName(credential) else { return unregistered(provider) }
    return "credential \(credential) of provider \(provider) is not set; "
      + "run: usherctl credential set \(credential)"
  }

  /// Returns the message that a provider has no client yet, and how it gets one.
  package static func unregistered(_ provider: ProviderName) -> String {
    "provider \(provider) has no client_id: set it, or let usherd register itself: "
      + "usherctl provider register \(provider)"
  }
}

/// The account that the params of a flow name.
package struct KnownAccount: Codable, Sendable, Equatable {
  package var id: AccountID
  package var subject: String

  package init(id: AccountID, subject: String) {
    self.id = id
    self.subject = subject
  }
}

/// An account of the flow's owner, with the label by which the user chooses it.
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

/// The time at which an event arrived, and the source of random bytes for the machine's reaction.
package struct TransitionContext: Sendable {
  package let now: Timestamp
  private let entropy: any Entropy

  package init(now: Timestamp, entropy: any Entropy) {
    self.now = now
    self.entropy = entropy
  }

  package mutating func random(_ count: Int) -> [UInt8] { entropy.bytes(count) }
}

/// An action that the engine performs after the machine's new state is on disk.
package enum Effect<Call: Sendable>: Sendable {
  /// Makes the call; the outcome arrives as `.called`. The provider's request time-out applies.
  case call(Call)
  /// Fetches the provider's metadata, from the cache if it is fresh.
  case discover
  /// Decrypts an ID token or userinfo answer if it must be encrypted, and verifies its signature or
  /// that of a signed answer; answered by ``ProviderEvent/idTokenVerified(_:)``. The machine itself
  /// validates the claims.
  case verifyIDToken(Secret, as: SignedTokenKind = .idToken, metadata: OIDCMetadata)
  /// Signs a request object with the private key of the provider's client; answered by
  /// ``ProviderEvent/signed(_:)``.
  case sign(RequestObject)
  /// Verifies a signed text with the provider's key; answered by
  /// ``ProviderEvent/idTokenVerified(_:)``. The key is fetched again if a cached one does not
  /// match.
  case verifySignature(SignedText)
  /// Listens for the redirect until the flow ends or requests `stopListening`; answered by
  /// `.listening` or `.listenFailed`.
  case listen(RedirectExpectation)
  case stopListening
  /// Asks the daemon; the answer arrives as `.answered`.
  case ask(DaemonQuestion)
  /// Stores an account before the flow ends. The account becomes durable together with the
  /// machine's new state and is then reported as ``DaemonAnswer/stored(_:)``. An answer of a
  /// machine may contain at most one such effect. The machine requests the effect again after a
  /// restart.
  case store(AccountGrant)
  /// Wakes the flow after a delay. A flow has one timer: a new one replaces the previous one.
  case wake(after: Duration)
}

/// What the engine has to do after the machine has handled an event.
package typealias Answer<Call: Sendable> = FlowAnswer<Call, Completion>

/// What the engine has to do after a machine, or a part of one such as the verification of a
/// contact, has handled an event.
package enum FlowAnswer<Call: Sendable, Value: Sendable>: Sendable {
  /// The flow continues: the engine stores the new state, then performs the effects in order.
  case proceed([Effect<Call>])
  /// The flow succeeds. The account and its tokens become durable together with the flow's end. If
  /// a part succeeds, the flow that contains it continues with the value.
  case finish(Value)
  /// The flow fails. Each call in `cleanUp` is made once. A call with a
  /// ``ProviderCall/revokedToken`` is retried until the provider has answered.
  case fail(Failure, cleanUp: [Call] = [])
  /// The input is invalid; the flow's state does not change.
  case refuse(field: String, message: String)
  /// The event does not concern the flow in its present state; nothing changes.
  case ignore
}

extension Effect: Equatable where Call: Equatable {}
extension FlowAnswer: Equatable where Call: Equatable, Value: Equatable {}

extension FlowAnswer {
  /// Returns the answer of the flow that contains the part. A part makes no clean-up calls.
  func flowAnswer(
    finished: (Value) -> Answer<Call>, failed: (Failure) -> Answer<Call> = { .fail($0) }
  ) -> Answer<Call> {
    switch self {
    case .proceed(let effects): .proceed(effects)
    case .finish(let value): finished(value)
    case .fail(let failure, cleanUp: _): failed(failure)
    case .refuse(let field, let message): .refuse(field: field, message: message)
    case .ignore: .ignore
    }
  }
}

/// The result of a successful flow.
package struct Completion: Sendable, Equatable {
  /// The account to store; the engine adds its id to the result.
  package var grant: AccountGrant?
  package var result: [String: JSONValue] = [:]
  /// A secret that the daemon stores for a later flow of the same client.
  package var handoffSecret: HandoffSecret?
  /// Preconditions that are checked again when the success is stored; if one fails, the flow fails.
  package var preconditions: Preconditions?
  /// Whether the daemon saves which fingers are enrolled, once the success is stored. Later scans
  /// of the same client at the same provider are compared with them.
  package var savesFingers = false
  /// What the daemon could not learn about the user although the flow succeeds, as the end of a
  /// sentence for the log, without secrets; nil if nothing is missing.
  package var warning: String?

  /// State that the success depends on, and that other requests can remove while the flow runs.
  package struct Preconditions: Sendable, Equatable {
    /// The account that must still exist when the success is stored.
    package var account: AccountID
    /// The grants that must still be valid for the flow's client.
    package var consents: Set<String>
  }
}

/// A secret that a flow leaves for a later flow of the same owner, client and provider. The client
/// receives only a handle, which names the secret.
package struct HandoffSecret: Codable, Sendable, Equatable {
  /// The name of the secret in the flow's result. It cannot be guessed.
  package var handle: String
  /// The purpose of the secret: a name that only the machines interpret, so that a flow finds the
  /// secrets that it can use.
  package var purpose: String
  package var secret: Sealed<Secret>
  package var expiresAt: Timestamp
  /// The tokens that came with the secret, if the secret is an access token.
  package var tokens: TokenSet?
}
