import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in with a registered device: by push, by QR code, or by a number that the user
/// types at a site (provider contract §5.6, AUTH; page BSA in Usher.docc).
package struct BSAAuthenticate: FlowMachine, RetryingMachine {
  package typealias Event = FlowEvent<BSACall>
  package typealias Answer = UsherFlows.Answer<BSACall>
  package static let kind = "authenticate"
  package static let summary = "Sign in with this machine's registered device."
  package static let needsAccount = true

  package enum Way: String, Codable, Sendable, CaseIterable {
    /// A site requests the sign-in; the flow polls BSA for that request.
    case push
    /// The user scans a QR code that a site shows.
    case qr
    /// The user types at a site a number that BSA generated for this sign-in.
    case otp
    /// The user types at a site a TOTP code (RFC 6238), which the daemon computes from the
    /// account's secret.
    case totp
  }

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The registered account; default: the caller's only account.
    package var account: AccountID?
    /// The way of the sign-in: `push` (a site requests it), `qr` (a site shows a QR code), `otp`
    /// (the user types a number from the provider at a site) or `totp` (the user types a code of
    /// the account's authenticator secret at a site). Default: `push`.
    package var by: Way?
    /// The content of the QR code that the user scanned; if absent, the flow asks for it.
    package var qrId: String?
    /// The client key that an app's SDK was configured with; must equal the configured one.
    package var clientKey: WireSecret?
  }

  package let provider: Provider<BSASettings>
  let order: Request
  var state: State
  var problem: Problem?
  /// The number of replies in which BSA said that the sign-in is not ready yet; 0 again when BSA
  /// has opened the sign-in.
  var waits = 0
  /// The user's last successful local authentication in this flow; nil before the first.
  private var proof: LocalAuthProof?

  /// The validated parameters of the flow.
  struct Request: Codable, Sendable, Equatable {
    let way: Way
    let account: KnownAccount
    let device: String
    let authType: BSAAuthType
    /// Whether the caller passed the QR id. If it did, a refused QR id ends the flow, because the
    /// user did not enter it and so cannot correct it.
    let hasQRID: Bool
  }

  enum State: Codable, Sendable, Equatable {
    /// The flow failed before any call to BSA.
    case refused(Failure)
    /// The user enters the content of a QR code. Next: proving, checking.
    case scan
    /// The user authenticates locally. Next: generating, checking, or the end.
    case proving(BSASignInSession, LocalAuthentication)
    /// Requests a number that the user types at a site. Next: pending, or the end.
    case generating(RetryBackoff)
    /// Polls BSA until a site requests a sign-in. Next: proving, checking, generating, or the end.
    case pending(Shown?, Poll)
    /// Asks the daemon whether the account still exists. Next: starting, or the end.
    case checking(BSASignInSession)
    /// Opens the sign-in at BSA. Next: completing, scan, or the end.
    case starting(BSASignInSession, Attempt)
    /// Confirms the sign-in at BSA. Next: fetching, or the end.
    case completing(BSASignInSession, channel: Sealed<Secret>, Attempt)
    /// Requests the access token of the confirmed sign-in. Next: the end.
    case fetching(BSASignInSession, channel: Sealed<Secret>, Attempt)
  }

  /// A number that is shown to the user, who types it at a site.
  struct Shown: Codable, Sendable, Equatable {
    let number: Sealed<Secret>
    let until: Timestamp
  }

  /// How far the flow is with polling BSA for a site's request to sign in.
  struct Poll: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// Whether the flow waits for its timer; false while a poll is in progress.
    var isPaused = false
  }

  /// How often BSA's start, completion or token call was tried, and whether its outcome is unknown.
  struct Attempt: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// Whether the flow waits because BSA said that the sign-in is not ready yet.
    var isWaiting = false
    /// Whether an earlier call may have succeeded although its reply was lost.
    var isLost = false

    var isPaused: Bool { retrying.isPaused || isWaiting }
  }

  /// The number of replies "not ready yet" after which the sign-in fails.
  static let waitLimit = 10

  package static func begin(
    _ params: Params, _ context: FlowContext<BSASettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (BSAAuthenticate, Answer) {
    guard let account = context.account else {
      throw ParamsValidation.wrong("account", "must name an account of this provider")
    }
    let way = params.by ?? .push
    guard params.qrId == nil || way == .qr else {
      throw ParamsValidation.wrong("qrId", "is allowed only if by is \"qr\"")
    }
    let known = context.attributes["localAuthType"]?.stringValue.flatMap {
      BSAAuthType(sdkName: $0)
    }
    let order = Request(
      way: way, account: account,
      device: context.attributes["deviceId"]?.stringValue
        ?? BSADevice.id(account.subject, at: context.installationID),
      authType: known ?? .passcode, hasQRID: params.qrId != nil)
    var flow = BSAAuthenticate(provider: context.provider, order: order, state: .scan)
    do throws(Failure) {
      try context.checkApp(params.clientKey, nil, "")
      // An account without a stored authentication type must not skip local authentication.
      guard known != nil else { throw .unknownPerson(context.provider.name) }
      let answer = flow.set(out: try context.line("qrId", params.qrId), at: transition.now)
      return (flow, answer)
    } catch {
      flow.state = .refused(error)
      return (flow, .fail(error))
    }
  }

  private mutating func set(out qrID: String?, at now: Timestamp) -> Answer {
    switch order.way {
    case .push: poll(nil)
    case .qr:
      qrID.map { prove(BSASignInSession(device: order.device, qrID: $0), at: now) } ?? .proceed([])
    case .otp, .totp: prove(BSASignInSession(device: order.device), at: now)
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: waiting("pending", for: "the sign-in")
    case .scan:
      FlowView(
        state: "scan",
        step: .fillForm(
          .init(fields: [Field(name: "qrId", type: .text, required: true, maxLength: 4096)])),
        problem: problem)
    case .proving(_, let authentication):
      FlowView(
        state: "localAuth", step: authentication.step,
        problem: authentication.problem ?? problem)
    case .generating: waiting("generating", for: "a number")
    case .pending(nil, _): waiting("pending", for: "a site's sign-in request")
    case .pending(let shown?, _):
      FlowView(state: "pending", step: display(shown), problem: problem)
    case .checking, .starting: waiting("starting", for: "the sign-in to start")
    case .completing, .fetching: waiting("completing", for: "the sign-in to be completed")
    }
  }

  private func display(_ shown: Shown) -> Step {
    let settings = provider.settings
    return .displayCode(
      .init(
        userCode: shown.number.unsealed().revealed(),
        verificationURI: (settings.siteURL ?? settings.baseURL).text, expiresAt: shown.until))
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    let now = transition.now
    switch state {
    case .refused(let failure): return event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .scan: return scan(event, now)
    case .proving(let session, let authentication):
      return proving(event, session, authentication, now)
    case .generating(let retrying): return generating(event, retrying, now)
    case .pending(let shown, let poll): return pending(event, shown, poll, now)
    case .checking(let session): return checking(event, session)
    case .starting(let session, let attempt): return signingIn(event, .start, session, attempt)
    case .completing(let session, let channel, let attempt):
      return signingIn(event, .complete(channel: channel), session, attempt)
    case .fetching(let session, let channel, let attempt):
      return signingIn(event, .fetch(channel: channel), session, attempt)
    }
  }

  package var callsIfAbandoned: [BSACall] {
    switch state {
    case .refused, .scan, .generating, .pending(nil, _): []
    // BSA has something to cancel only if a site waits for this sign-in.
    case .proving(let session, _), .checking(let session):
      session.site == nil ? [] : [.cancel(session)]
    // The user may have typed the number already, which opens a sign-in at the provider.
    case .pending(let shown?, _):
      (order.way == .otp ? [.dropNumber(shown.number.unsealed())] : [])
        + [.cancel(BSASignInSession(device: order.device))]
    case .starting(let session, _), .completing(let session, _, _), .fetching(let session, _, _):
      [.cancel(session)]
    }
  }

  package var unknownOutcome: String? {
    switch state {
    case .completing(_, _, let attempt):
      attempt.isPaused && !attempt.isLost ? nil : .operationUnknown
    case .fetching: .operationUnknown
    case .refused, .scan, .proving, .generating, .pending, .checking, .starting: nil
    }
  }

  package static func cleanUp(_ call: BSACall, _ outcome: CallOutcome) -> [BSACall] {
    guard case .success(let data) = BSAReply(outcome, to: call) else { return [] }
    switch call {
    case .start(let session, userKey: _): return [.cancel(session)]
    case .generateNumber: return data.visibleSecret.map { [.dropNumber($0.unsealed())] } ?? []
    default: return []
    }
  }

  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    let codes: [Failure.Reason: RTCode] = [.cancelled: .authCancelled, .expired: .authTimeout]
    return codes[ending]?.providerErrorCode(provider)
  }
}

extension Failure {
  fileprivate static func unknownPerson(_ provider: ProviderName) -> Failure {
    .impossible(
      .authType,
      "the account has no stored authentication type: run reregisterDevice to set it", provider)
  }
}

// MARK: - The user

extension BSAAuthenticate {
  private mutating func scan(_ event: Event, _ now: Timestamp) -> Answer {
    switch event {
    case .input(.form(let fields)):
      if let refusal = Answer.refusal(of: fields, otherThan: ["qrId"]) { return refusal }
      let text = fields["qrId"]?.revealed() ?? ""
      guard text.isVisible(upTo: 4096) else {
        return .refuse(
          field: "input.fields.qrId",
          message: "input.fields.qrId must be printable ASCII without spaces")
      }
      return prove(BSASignInSession(device: order.device, qrID: text), at: now)
    case .input(.back): return .noPreviousStep
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Starts the local authentication of the user, with the method that the account is registered
  /// for.
  ///
  /// An authentication of this flow that is recent enough is reused for a new number, and for a QR
  /// id that replaces a refused one, because neither has signed the user in yet. Each site requires
  /// a new authentication, because another person can start a sign-in for this user at that moment.
  ///
  /// - Parameter site: The site's address as the provider reports it.
  mutating func prove(
    _ session: BSASignInSession, for site: String? = nil, at now: Timestamp
  ) -> Answer {
    problem = nil
    let age = Duration.seconds(provider.settings.localAuthSeconds)
    if session.site == nil, let proof, proof.isFresh(for: age, at: now) {
      return continueSignIn(session)
    }
    let place = session.site == nil ? "to" : "to \(site ?? Self.namelessSite) by"
    guard let type = order.authType.localAuthType else { return continueSignIn(session) }
    let request = LocalAuthRequest(
      localAuthType: type, reason: "sign in \(place) \(provider.name) as \(order.account.subject)",
      checkDomainStateChanged: true)
    return LocalAuthentication.start(request) { state = .proving(session, $0) }
  }

  private static let namelessSite = "a site without an address"

  private mutating func proving(
    _ event: Event, _ session: BSASignInSession, _ authentication: LocalAuthentication,
    _ now: Timestamp
  ) -> Answer {
    authentication.handle(event, at: now) {
      state = .proving(session, $0)
    } authenticated: {
      proof = $0
      return continueSignIn(session)
    } failed: {
      .fail(.notIdentified($0, $1, provider.name), cleanUp: callsIfAbandoned)
    }
  }

  /// Continues the sign-in after the local authentication.
  private mutating func continueSignIn(_ session: BSASignInSession) -> Answer {
    switch order.way {
    case .push, .qr: check(session)
    // A session with a site means that the user has already typed the number there.
    case .otp, .totp: session.site == nil ? generate(RetryBackoff()) : check(session)
    }
  }
}
