import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Shares a user's profile with a client in mode `device`, as the Freedom ID SDK does: account
/// check, log-in, choice of an account, local authentication, consent, profile (SDK documentation,
/// Authorization Flow; page FreedomID in Usher.docc).
///
/// Passwords and codes occur only in events and calls. Between two attempts of a call they are held
/// in memory; after a restart the flow asks for them again.
package struct FreedomDeviceAuthorize: FreedomFlow, RetryingMachine {
  package typealias Event = FlowEvent<FreedomDeviceCall>
  package typealias Answer = UsherFlows.Answer<FreedomDeviceCall>
  package static let kind = "authorize"
  package static let summary =
    "Share the parts of a Freedom ID profile that a person agrees to with a client."

  package static let knowsAccounts = true
  package static let accountUse = AccountUse.proved

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The requested fields: `read.gender`, ….
    package var grants: [String]
    /// The API key that an app's SDK was configured with; must equal the configured one.
    package var apiKey: WireSecret?
    /// An account of this provider; it replaces the user's choice.
    package var account: AccountID?
  }

  package let provider: Provider<FreedomIDSettings>
  let order: Request
  var state: State
  var problem: Problem?
  /// The owner's accounts that Freedom ID has linked to this device, oldest first. If the caller
  /// named an account, the list contains at most that one.
  var tied: [NamedAccount] = []
  var denials = 0
  /// Whether the user had to log in again because Freedom ID no longer accepted the account's
  /// token. This happens at most once in a flow.
  var hasSignedInAgain = false

  /// The validated parameters of the flow.
  struct Request: Codable, Sendable, Equatable {
    /// The requested grants, in the order in which ``DataGrant`` lists them.
    let grants: [DataGrant]
    /// The owner's installation id, which is its device id at Freedom ID.
    let device: String
    let account: KnownAccount?
    /// The owner's accounts at Freedom ID that the daemon stores.
    let accounts: [NamedAccount]
    /// The name of the client that is shown to the user.
    let client: String
  }

  enum State: Codable, Sendable, Equatable {
    /// The flow failed before any call to Freedom ID.
    case refused(Failure)
    /// Asks Freedom ID which accounts are linked to this device. Next: detecting, or the end.
    case checking(RetryBackoff)
    /// Asks the daemon whether the user can authenticate at this machine: about the passcode, and
    /// without one about the fingerprint reader. Next: home, proving, authentication, or the end.
    case detecting(asksReader: Bool)
    /// The user logs in. Next: keeping, home, or the end.
    case authentication(FreedomLogin)
    /// Stores the account that has logged in. Next: home, proving.
    case keeping(SignedIn)
    /// The user chooses an account. Next: proving, authentication.
    case home
    /// The user authenticates locally. Next: recalling, home, or the end.
    case proving(NamedAccount, LocalAuthentication)
    /// Asks the daemon for the consents that the user gave earlier. Next: permissions, completing.
    case recalling(NamedAccount)
    /// The user decides which grants to give. Next: completing, home, or the end.
    case permissions(NamedAccount, remembered: [DataGrant])
    /// The consent is submitted to Freedom ID. Next: authentication, or the end.
    case completing(FreedomCompletion)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (FreedomDeviceAuthorize, Answer) {
    func flow(_ grants: [DataGrant], _ state: State) -> FreedomDeviceAuthorize {
      let order = Request(
        grants: grants, device: context.installationID, account: context.account,
        accounts: context.accounts, client: context.client)
      return FreedomDeviceAuthorize(provider: context.provider, order: order, state: state)
    }
    do throws(Failure) {
      let provider = context.provider.name
      guard !params.grants.isEmpty else { throw .emptyGrants(provider) }
      // The daemon reports a credential that is not set.
      if let key = params.apiKey, context.credential.isSet, !context.credential.accepts(key.secret)
      {
        throw .otherAPIKey(provider)
      }
      let flow = flow(try params.grants.dataGrants(at: provider), .checking(RetryBackoff()))
      return (flow, .proceed([.call(.accounts(device: context.installationID))]))
    } catch {
      return (flow([], .refused(error)), .fail(error))
    }
  }

  package var view: FlowView {
    switch state {
    case .refused, .checking: waiting("accountCheck", for: "the accounts of this device")
    case .detecting: waiting("accountCheck", for: "the check of this machine's authentication")
    case .authentication(let login):
      FlowView(state: "authentication", step: login.step, problem: problem)
    case .keeping: waiting("authentication", for: "the account to be stored")
    case .home: FlowView(state: "home", step: .choose(choice), problem: problem)
    case .proving(_, let authentication):
      FlowView(state: "home", step: authentication.step, problem: authentication.problem)
    case .recalling: waiting("home", for: "the earlier grants")
    case .permissions(_, let remembered):
      FlowView(state: "permissions", step: .consent(consent(remembered)), problem: problem)
    case .completing: waiting("completion", for: "the profile")
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .refused(let failure): event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .checking(let retrying): checking(event, retrying)
    case .detecting(let asksReader): detecting(event, asksReader)
    case .authentication(let login): authentication(event, login, transition.now)
    case .keeping(let person): keeping(event, person, transition.now)
    case .home: home(event, transition.now)
    case .proving(let account, let authentication):
      proving(event, account, authentication, transition.now)
    case .recalling(let account): recalling(event, account, &transition)
    case .permissions(let account, let remembered):
      permissions(event, account, remembered, &transition)
    case .completing(let completion): completing(event, completion, transition.now)
    }
  }

  /// Returns the call that unlinks the account from this device, if a log-in succeeds after the
  /// flow has ended.
  package static func cleanUp(
    _ call: FreedomDeviceCall, _ outcome: CallOutcome
  ) -> [FreedomDeviceCall] {
    guard case .success(let members) = FreedomIDReply(outcome, hiding: call.typed),
      let person = try? SignedIn(members)
    else { return [] }
    return [person.untying(from: call.device)]
  }

  package var unknownOutcome: String? {
    if case .authentication(let login) = state { login.unknownOutcome } else { nil }
  }
}

// MARK: - Account check

extension FreedomDeviceAuthorize {
  private mutating func checking(_ event: Event, _ retrying: RetryBackoff) -> Answer {
    let call = FreedomDeviceCall.accounts(device: order.device)
    if event.repeatsCall(retrying) {
      state = .checking(retrying.resumed)
      return .proceed([.call(call)])
    }
    return event.outcome(of: call, retrying).map { checked($0, retrying) } ?? .ignore
  }

  private mutating func checked(_ outcome: CallOutcome, _ retrying: RetryBackoff) -> Answer {
    switch FreedomIDReply(outcome) {
    case .success(let members):
      guard let accounts = members["accounts"]?.arrayValue else {
        return .fail(
          .unusable("the provider's answer has no accounts", .parsingError, provider.name))
      }
      let ids = Set(accounts.compactMap { $0["id"]?.stringValue.map { Array($0.utf8) } })
      problem = nil
      tied = order.accounts.filter { account in
        ids.contains(Array(account.subject.utf8))
          && order.account.map { $0.id == account.id } ?? true
      }
      return detect(asksReader: false)
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.clientErrorCode, provider.name))
    case .failed(let fault):
      return retry(retrying, .unreachable(fault, provider.name), after: fault.retryAfter) {
        $0.state = .checking($1)
      }
    case .unreadable(let flaw): return .fail(.unusable(flaw, provider.name))
    case .noToken(let message): return .fail(.unusable(message, .authError, provider.name))
    }
  }
}

// MARK: - The means of local authentication

extension FreedomDeviceAuthorize {
  /// Asks whether the user can authenticate at this machine, so that nobody logs in for nothing.
  /// fprintd, which may be slow, is asked only if no passcode is set.
  private mutating func detect(asksReader: Bool) -> Answer {
    state = .detecting(asksReader: asksReader)
    return .asking([asksReader ? .availability : .passcodeAvailability])
  }

  private mutating func detecting(_ event: Event, _ asksReader: Bool) -> Answer {
    switch event {
    case .daemon(.answered(.localAuth(.availability(let available)))):
      guard available.passcode == .notEnrolled else { return showHome(nil) }
      guard asksReader else { return detect(asksReader: true) }
      switch available.biometric {
      // The lock may be over after the log-in.
      case .ready, .lockedOut: return showHome(nil)
      case .noReader, .notEnrolled, .unavailable:
        return .fail(
          .notAuthenticated(.passcodeNotEnrolledDevice, Self.noMeans, provider.name))
      }
    case .daemon(.resumed): return detect(asksReader: asksReader)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private static let noMeans =
    "neither a fingerprint reader nor a passcode can be used on this machine; "
    + "run: usherctl local passcode"
}

// MARK: - Authentication

extension FreedomDeviceAuthorize {
  private mutating func authentication(
    _ event: Event, _ login: FreedomLogin, _ now: Timestamp
  ) -> Answer {
    var login = login
    let progress = login.receive(event, order.device, provider.name, at: now)
    switch progress {
    case .proceed(let effects, let problem):
      state = .authentication(login)
      self.problem = problem
      return .proceed(effects)
    case .signedIn(let person): return signedIn(person)
    case .home:
      guard !tied.isEmpty else { return .noPreviousStep }
      return chooseAgain(nil)
    case .failed(let failure): return .fail(failure)
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }

  private mutating func signedIn(_ person: SignedIn) -> Answer {
    if let account = order.account, !account.subject.hasSameBytes(as: person.subject) {
      return .fail(.otherPerson(provider.name), cleanUp: [person.untying(from: order.device)])
    }
    state = .keeping(person)
    problem = nil
    return .proceed([.store(person.grant)])
  }

  private mutating func keeping(_ event: Event, _ person: SignedIn, _ now: Timestamp) -> Answer {
    switch event {
    case .daemon(.answered(.stored(let id))):
      tied.removeAll { $0.subject.hasSameBytes(as: person.subject) }
      tied.append(NamedAccount(id: id, subject: person.subject, label: person.label))
      return showHome(nil)
    // The account may be stored already; storing it again changes nothing.
    case .daemon(.resumed): return .proceed([.store(person.grant)])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Continues with the account that the caller named, else with the choice of an account, else
  /// with a log-in.
  private mutating func showHome(_ problem: Problem?) -> Answer {
    if let named = order.account,
      let account = tied.first(where: { $0.subject.hasSameBytes(as: named.subject) })
    {
      return prove(account)
    }
    guard order.account == nil, !tied.isEmpty else { return signIn(problem) }
    return chooseAgain(problem)
  }

  mutating func signIn(_ problem: Problem?) -> Answer {
    state = .authentication(FreedomLogin())
    self.problem = problem
    return .proceed([])
  }

  mutating func chooseAgain(_ problem: Problem?) -> Answer {
    state = .home
    self.problem = problem
    return .proceed([])
  }

  mutating func prove(_ account: NamedAccount) -> Answer {
    let request = LocalAuthRequest(
      localAuthType: .biometric, reason: "Freedom ID: use of \(account.label)",
      usePasscodeWhenFailed: true)
    problem = nil
    return LocalAuthentication.start(request) { state = .proving(account, $0) }
  }
}
