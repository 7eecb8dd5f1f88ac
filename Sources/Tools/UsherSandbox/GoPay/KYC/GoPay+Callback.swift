import FoundationEssentials

/// A callback that a test requests. The settings supply the members that are nil.
struct PushRequest: Sendable, Hashable {
  var url: CallbackURL?
  var authorization: GoPayBackendSettings.CallbackAuthorization?
  /// The exact authorization, in place of one of the given kind.
  var value: String?
  var times: Int?
  /// Overrides for the members of the body; `null` removes a member.
  var body: [String: JSON] = [:]
}

/// A callback that was sent.
struct Push: Sendable, Hashable {
  let number: Int
  let time: Date
  let submissionID: String
  let partnerSessionID: String
  let url: String
  let answer: CallbackAnswer
}

/// The most recent callbacks, oldest first.
struct PushLog: Sendable {
  private static let limit = 1000
  private(set) var pushes: [Push] = []
  private var count = 0

  mutating func add(
    _ submission: Submission, _ url: CallbackURL, _ answer: CallbackAnswer, at time: Date
  ) {
    count += 1
    if pushes.count == Self.limit { pushes.removeFirst() }
    pushes.append(
      Push(
        number: count, time: time, submissionID: submission.id,
        partnerSessionID: submission.request.partnerSession, url: url.text, answer: answer))
  }
}

extension GoPayBackend {
  /// Applies the verdict of the settings, unless a test has set one, and sends the callback.
  func decide(_ id: String) async {
    guard let submission = ledger.submission(id), submission.moved == nil,
      let verdict = settings.ownVerdict
    else { return }
    ledger.move(id, to: verdict, now: context.clock.now())
    _ = await push(id, PushRequest())
  }

  /// Sends the callback as often as requested; does nothing if no address is known.
  ///
  /// - Returns: The partner's responses.
  func push(_ id: String, _ request: PushRequest) async -> [CallbackAnswer] {
    guard let submission = ledger.submission(id),
      let url = request.url ?? CallbackURL(settings.callbackUrl)
    else { return [] }
    var headers: [String: String] = [:]
    headers["authorization"] =
      request.value
      ?? authorization(submission, request.authorization ?? settings.callbackAuthorization)
    let now = context.clock.now()
    let body = JSON.object(
      submission.callback(settings, now: now).applying(overrides: settings.callbackBody)
        .applying(overrides: request.body))
    var answers: [CallbackAnswer] = []
    for _ in 0..<(request.times ?? settings.callbackTimes) {
      let answer = await sendCallback(url, headers, body.encoded())
      pushes.add(submission, url, answer, at: context.clock.now())
      answers.append(answer)
    }
    return answers
  }

  private func authorization(
    _ submission: Submission, _ kind: GoPayBackendSettings.CallbackAuthorization
  ) -> String? {
    switch kind {
    case .token: submission.link
    case .credential: GoPayPartner.callbackCredential
    case .bearer: "Bearer \(submission.link)"
    case .otherPerson:
      ledger.tokenOfAnother(than: submission.person, now: context.clock.now())
    case .wrong: String(submission.link.dropLast()) + (submission.link.last == "x" ? "y" : "x")
    case .absent: nil
    }
  }
}

extension Submission {
  /// The body of a callback. A submission that was not submitted yet is shown as initiated.
  fileprivate func callback(_ settings: GoPayBackendSettings, now: Date) -> [String: JSON] {
    let kyc = kyc(settings, now: now) ?? .initiated
    var members: [String: JSON] = [
      "submissionId": .string(id), "partnerSessionId": .string(request.partnerSession),
      "status": .string(kyc.status), "result": kyc.result.map { .string($0) } ?? .null,
    ]
    members["reasonCode"] = kyc.reason.map { .string($0) }
    return members
  }
}
