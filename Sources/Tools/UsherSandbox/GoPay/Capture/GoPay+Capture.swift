import FoundationEssentials

extension GoPayBackend {
  /// Handles `GET /coe/v1/submissions/urls`.
  func capture(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let now = context.clock.now()
      let holder = try captureHolder(call, now)
      let request = try CaptureRequest(call)
      let opened = ledger.capture(request, holder, seconds: settings.captureSeconds, now: now)
      return .identity(
        [
          "submissionId": .string(opened.id),
          "url": .string("\(call.base)\(Self.path)/capture/pages/\(opened.page)"),
          "expiresAt": .string(SnapTimestamp(opened.expires).text),
        ], settings.captureReply)
    }
  }

  /// Handles `GET /coe/v1/submissions/{submissionId}`.
  func submission(_ call: EndpointCall) async -> Reply {
    await respondingWithIdentityErrors {
      let holder = try captureHolder(call, context.clock.now())
      _ = try call.captureSession()
      guard let submission = ledger.submission(call.parameters["submissionId"]),
        submission.person == holder.person
      else { throw IdentityRefusal.noSubmission }
      return .identity(submission.members, settings.submissionReply)
    }
  }

  private func captureHolder(
    _ call: EndpointCall, _ now: Date
  ) throws(IdentityRefusal) -> GoPayLedger.CaptureToken {
    try call.checkMerchant()
    let token = try call.identityHeader("x-onekyc-token")
    guard let holder = ledger.captureTokens.value(token, now: now),
      !settings.isClosed(holder.person)
    else { throw .token }
    return holder
  }
}

/// The capture page.
extension GoPayBackend {
  func capturePage(_ call: EndpointCall) async -> Reply {
    guard let submission = ledger.submission(ofPage: call.parameters["page"], now: now) else {
      return context.pages.expired()
    }
    return page(of: submission, call)
  }

  /// Handles the form: takes one of the two photographs, submits both, or ends with an error.
  func photograph(_ call: EndpointCall) async -> Reply {
    guard let form = try? call.postedForm(), let action = form["action"],
      let submission = ledger.submission(ofPage: call.parameters["page"], now: now),
      case .open(let hasCard) = submission.capture
    else { return context.pages.expired() }
    switch action {
    case "card":
      ledger.capture(submission.id) { $0 = .open(card: true) }
    case "face":
      guard hasCard else {
        return page(of: submission, call, problem: "Photograph the card first.")
      }
      submit(submission.id)
    case "submit":
      submit(submission.id)
    default:
      guard let error = CaptureError(rawValue: action) else { return context.pages.expired() }
      ledger.capture(submission.id) { $0 = .failed(error) }
    }
    guard let after = ledger.submission(submission.id) else { return context.pages.expired() }
    return page(of: after, call)
  }

  /// Marks a capture as submitted. If the settings have a verdict, it follows after
  /// `verdictSeconds` of real time.
  func submit(_ id: String) {
    ledger.capture(id) { $0 = .submitted(now) }
    guard settings.verdict != .none else { return }
    let seconds = settings.verdictSeconds
    Task {
      try? await Task.sleep(for: .seconds(seconds))
      await decide(id)
    }
  }

  private var now: Date { context.clock.now() }

  private func page(of submission: Submission, _ call: EndpointCall, problem: String? = nil)
    -> Reply
  {
    switch submission.capture {
    case .open(let hasCard):
      var values: [String: Any] = [
        "action": call.path, "name": submission.person.name,
        "lang": submission.request.language.rawValue, "partner": GoPayPartner.name,
        "errors": CaptureError.allCases.map { ["name": $0.rawValue, "label": $0.label] },
      ]
      values[hasCard ? "face" : "card"] = [String: Any]()
      values["problem"] = problem.map { ["text": $0] }
      return context.pages.render("gopayCapture", values, status: problem == nil ? 200 : 403)
    case .failed, .submitted:
      guard let back = submission.request.returnURL else {
        return context.pages.message(
          title: submission.submitted == nil ? "Not submitted" : "Submitted",
          text: "You can close this window.", status: 200)
      }
      return .redirect(
        to: back.text,
        adding: ["submissionId": .string(submission.id), "status": .string(submission.status)])
    }
  }
}
