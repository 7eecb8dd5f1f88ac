import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// A sign-in of a registered device: pushed, scanned, or by a number that is typed at a site (contract
/// §5.6, AUTH; the page BSA of the documentation).
package struct BSAAuthenticate: FlowMachine {
  package static let kind = "authenticate"
  package static let summary = "Sign in with this machine's registered device."
  package static let needsAccount = true

  package enum Way: String, Codable, Sendable, CaseIterable {
    /// A site asks for it.
    case push
    /// A site shows a QR code.
    case qr
    /// The person types a number of the provider's at a site.
    case otp
    /// Likewise, one of the account's secret.
    case totp
  }

  package struct Params: Codable, Sendable, Equatable {
    /// Default: the caller's only one.
    package var account: AccountID?
    /// Default: `push`.
    package var by: Way?
    /// What the person's camera read; asked for where it is absent.
    package var qrId: String?
    /// What an app's SDK was set up with: it must be the configured one.
    package var clientKey: WireSecret?

    package init(by: Way? = nil, qrId: String? = nil) {
      self.by = by
      self.qrId = qrId
    }
  }

  package let provider: ProviderConfig
  let order: Request
  var state: State
  var problem: Problem?
  /// How often the provider has said that it is not so far.
  var waits = 0
  /// What the person has proved in this flow.
  private var proof: LocalAuthProof?

  /// What the flow was begun with.
  struct Request: Codable, Sendable, Equatable {
    let way: Way
    let account: KnownAccount
    let device: String
    let authType: BSAAuthType
    /// Whether the QR id stood in the parameters: then nobody can type a better one.
    let hasQRID: Bool
  }

  enum State: Codable, Sendable, Equatable {
    /// Over before anything was asked.
    case refused(Failure)
    /// The person says what the camera read. → proving, starting
    case scan
    /// → generating, starting, or the end
    case proving(BSAVisit, LocalAuthentication)
    /// A number for the person. → pending, or the end
    case generating(RetryBackoff)
    /// A site's wish is waited for. → proving, checking, generating, or the end
    case pending(Shown?, Poll)
    /// Whether the account is still there. → starting, or the end
    case checking(BSAVisit)
    /// → completing, scan, or the end
    case starting(BSAVisit, Attempt)
    /// → the end
    case completing(BSAVisit, channel: Sealed<Secret>, Attempt)
    /// The token is asked for. → the end
    case fetching(BSAVisit, channel: Sealed<Secret>, Attempt)
  }

  /// A number that the person types at a site.
  struct Shown: Codable, Sendable, Equatable {
    let number: Sealed<Secret>
    let until: Timestamp
  }

  /// Asking again and again.
  struct Poll: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// Between two questions.
    var isPaused = false
  }

  /// One call of the sign-in.
  struct Attempt: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// The provider is not so far: between two questions.
    var isWaiting = false
    /// It may have been done, and nobody knows.
    var isLost = false

    var isPaused: Bool { retrying.isPaused || isWaiting }
  }

  /// How often the provider may say that it is not so far.
  static let waitLimit = 10

  package static func begin(
    _ params: Params, _ origin: FlowContext, at moment: inout TransitionContext
  ) throws(UsherError) -> (BSAAuthenticate, Answer<BSACall>) {
    guard let account = origin.account else {
      throw FlowParams.wrong("account", "must name an account of this provider")
    }
    let way = params.by ?? .push
    guard params.qrId == nil || way == .qr else {
      throw FlowParams.wrong("qrId", "goes with by \"qr\" only")
    }
    let known = origin.attributes["localAuthType"]?.stringValue.flatMap {
      BSAAuthType(sdkWord: $0)
    }
    let order = Request(
      way: way, account: account,
      device: origin.attributes["deviceId"]?.stringValue
        ?? BSADevice.id(account.subject, at: origin.installationID),
      authType: known ?? .passcode, hasQRID: params.qrId != nil)
    var flow = BSAAuthenticate(provider: origin.provider, order: order, state: .scan)
    do throws(EarlyFailure) {
      try origin.checkApp(params.clientKey, nil, "")
      // Nobody is let in for want of a question.
      guard known != nil else { throw EarlyFailure(.unknownPerson(origin.provider.name)) }
      let answer = flow.set(out: try origin.line("qrId", params.qrId), at: moment.now)
      return (flow, answer)
    } catch {
      flow.state = .refused(error.failure)
      return (flow, .fail(error.failure))
    }
  }

  private mutating func set(out qrID: String?, at now: Timestamp) -> Answer<BSACall> {
    switch order.way {
    case .push: poll(nil)
    case .qr: qrID.map { prove(BSAVisit(device: order.device, qrID: $0), at: now) } ?? .proceed([])
    case .otp, .totp: prove(BSAVisit(device: order.device), at: now)
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: view("pending", .wait(.init(for: "the sign-in")))
    case .scan:
      view(
        "scan",
        .fillForm(
          .init(fields: [Field(name: "qrId", type: .text, required: true, maxLength: 4096)])))
    case .proving(_, let authentication):
      FlowView(
        state: "localAuth", step: authentication.step,
        problem: authentication.problem ?? problem)
    case .generating: view("generating", .wait(.init(for: "a number")))
    case .pending(nil, _): view("pending", .wait(.init(for: "a site to ask for a sign-in")))
    case .pending(let shown?, _): view("pending", display(shown))
    case .checking, .starting: view("starting", .wait(.init(for: "the sign-in to begin")))
    case .completing, .fetching:
      view("completing", .wait(.init(for: "the sign-in to be completed")))
    }
  }

  private func view(_ state: String, _ step: Step) -> FlowView {
    FlowView(state: state, step: step, problem: problem)
  }

  private func display(_ shown: Shown) -> Step {
    let settings = provider.bsa
    return .displayCode(
      .init(
        userCode: shown.number.unsealed().revealed(),
        verificationURI: (settings.siteURL ?? settings.baseURL).text, expiresAt: shown.until))
  }

  package mutating func receive(
    _ event: FlowEvent<BSACall>, at moment: inout TransitionContext
  ) -> Answer<BSACall> {
    let now = moment.now
    switch state {
    case .refused(let failure): return event == .resumed ? .fail(failure) : .ignore
    case .scan: return scan(event, now)
    case .proving(let visit, let authentication): return proving(event, visit, authentication, now)
    case .generating(let retrying): return generating(event, retrying, now)
    case .pending(let shown, let poll): return pending(event, shown, poll, now)
    case .checking(let visit): return checking(event, visit)
    case .starting(let visit, let attempt): return starting(event, visit, attempt)
    case .completing(let visit, let channel, let attempt):
      return completing(event, visit, channel, attempt)
    case .fetching(let visit, let channel, let attempt):
      return fetching(event, visit, channel, attempt)
    }
  }

  package var abandoned: [BSACall] {
    switch state {
    case .refused, .scan, .generating, .pending(nil, _): []
    // A site waits for it.
    case .proving(let visit, _), .checking(let visit): visit.site == nil ? [] : [.cancel(visit)]
    // It may have been typed a moment ago.
    case .pending(let shown?, _):
      (order.way == .otp ? [.dropNumber(shown.number.unsealed())] : [])
        + [.cancel(BSAVisit(device: order.device))]
    case .starting(let visit, _), .completing(let visit, _, _), .fetching(let visit, _, _):
      [.cancel(visit)]
    }
  }

  package var isOutcomeUnknown: Bool {
    switch state {
    case .completing(_, _, let attempt): !attempt.isPaused || attempt.isLost
    case .fetching: true
    case .refused, .scan, .proving, .generating, .pending, .checking, .starting: false
    }
  }

  package static func clearUp(_ call: BSACall, _ outcome: CallOutcome) -> [BSACall] {
    guard case .said(let data) = BSAReply(outcome) else { return [] }
    switch call {
    case .start(let visit, userKey: _): return [.cancel(visit)]
    case .generateNumber:
      return data.visibleSecret.map { [.dropNumber($0.unsealed())] } ?? []
    default: return []
    }
  }

  package static func word(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    switch ending {
    case .cancelled: RTCode.authCancelled.word(provider)
    case .expired: RTCode.authTimeout.word(provider)
    case .denied, .invalidRequest, .providerRejected, .providerUnreachable,
      .providerProtocolError, .attemptsExhausted, .exchangeFailed, .exchangeTimedOut,
      .localAuthFailed, .overloaded:
      nil
    }
  }
}

extension Failure {
  fileprivate static func unknownPerson(_ provider: ProviderName) -> Failure {
    .impossible(
      .authType,
      "the account does not say how its person is known: reregisterDevice says it anew", provider)
  }
}

// MARK: - The person

extension BSAAuthenticate {
  private mutating func scan(
    _ event: FlowEvent<BSACall>, _ now: Timestamp
  ) -> Answer<BSACall> {
    switch event {
    case .input(.form(let fields)):
      if let stray = fields.keys.filter({ $0 != "qrId" }).min() {
        return .refuse(
          field: "input.fields.\(stray)", message: "this is not a field of the step")
      }
      let text = fields["qrId"]?.revealed() ?? ""
      guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy(\.isVisible) else {
        return .refuse(
          field: "input.fields.qrId",
          message: "input.fields.qrId must be printable ASCII without spaces")
      }
      return prove(BSAVisit(device: order.device, qrID: text), at: now)
    case .input(.back):
      return .refuse(field: "input.back", message: "there is no step before")
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken, .resumed:
      return .ignore
    }
  }

  /// Has the person authenticated in the way the account is registered for.
  ///
  /// A recent proof of this flow is enough for another number, and for a QR id in place of a refused one:
  /// neither has signed anybody in. Each site is asked about anew, because anybody may begin a sign-in
  /// for this person just then.
  ///
  /// - Parameter site: Where the person is signed in, as the provider says.
  mutating func prove(
    _ visit: BSAVisit, for site: String? = nil, at now: Timestamp
  ) -> Answer<BSACall> {
    problem = nil
    let age = Duration.seconds(provider.bsa.localAuthSeconds)
    if visit.site == nil, let proof, proof.isGood(for: age, at: now) { return goOn(visit) }
    let place = visit.site == nil ? "to" : "to \(site ?? Self.namelessSite) by"
    guard let type = order.authType.localAuthType else { return goOn(visit) }
    var authentication = LocalAuthentication(
      LocalAuthRequest(
        type, reason: "sign in \(place) \(provider.name) as \(order.account.subject)",
        checkDomainStateChanged: true))
    let questions = authentication.begin()
    state = .proving(visit, authentication)
    return .asking(questions)
  }

  private static let namelessSite = "a site that gives no address"

  private mutating func proving(
    _ event: FlowEvent<BSACall>, _ visit: BSAVisit, _ authentication: LocalAuthentication,
    _ now: Timestamp
  ) -> Answer<BSACall> {
    var authentication = authentication
    switch authentication.receive(event, at: now) {
    case .ask(let questions):
      state = .proving(visit, authentication)
      return .asking(questions)
    case .authenticated(let proof):
      self.proof = proof
      return goOn(visit)
    case .failed(let word, let message):
      return .fail(.notIdentified(word, message, provider.name), clearUp: abandoned)
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }

  /// What comes after the person.
  private mutating func goOn(_ visit: BSAVisit) -> Answer<BSACall> {
    switch order.way {
    case .push, .qr: check(visit)
    // A site has asked for it: the number was shown before.
    case .otp, .totp: visit.site == nil ? generate(RetryBackoff()) : check(visit)
    }
  }
}
