import FoundationEssentials

extension GoPayBackend {
  func listSubmissions(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json([
      "submissions": .array(ledger.submissions.values.map { $0.json(settings, now) })
    ])
  }

  func showSubmission(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      .json(try named(call).json(settings, context.clock.now()))
    }
  }

  /// Sets the KYC state of a submission. A final state sends the callback.
  func moveSubmission(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let submission = try named(call)
      var body = try ObjectReader(try? JSON(parsing: call.body))
      let kyc = try body.kyc()
      let pushes = try body.flag("push") ?? true
      try body.finish()
      guard submission.submitted != nil else {
        throw OAuthError("invalid_request", "the photographs have not been submitted", status: 409)
      }
      ledger.move(submission.id, to: kyc, now: context.clock.now())
      let answers = kyc.isFinal && pushes ? await push(submission.id, PushRequest()) : []
      return try shown(submission.id, answers)
    }
  }

  /// Ends the capture as the user would on its page.
  func endCapture(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let submission = try named(call)
      var body = try call.optionalObject()
      let outcome = try body.text("outcome") ?? "SUBMITTED"
      try body.finish()
      guard case .open = submission.capture else {
        throw OAuthError("invalid_request", "the capture has ended", status: 409)
      }
      if outcome == "SUBMITTED" {
        submit(submission.id)
      } else if let error = CaptureError(rawValue: outcome) {
        ledger.capture(submission.id) { $0 = .failed(error) }
      } else {
        let names = CaptureError.allCases.map(\.rawValue).joined(separator: ", ")
        throw body.invalid("outcome", "must be one of SUBMITTED, \(names)")
      }
      return try shown(submission.id, [])
    }
  }

  /// Sends another callback, which may be invalid.
  func pushSubmission(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let submission = try named(call)
      var body = try call.optionalObject()
      let request = try body.push()
      try body.finish()
      guard request.url != nil || !settings.callbackUrl.isEmpty else {
        throw OAuthError("invalid_request", "url and the setting callbackUrl are both missing")
      }
      return try shown(submission.id, await push(submission.id, request))
    }
  }

  func listPushes(_ call: EndpointCall) async -> Reply {
    .json(["pushes": .array(pushes.pushes.map(\.json))])
  }

  private func named(_ call: EndpointCall) throws(OAuthError) -> Submission {
    guard let submission = ledger.submission(call.id) else {
      throw OAuthError("not_found", "there is no such submission", status: 404)
    }
    return submission
  }

  private func shown(_ id: String, _ answers: [CallbackAnswer]) throws(OAuthError) -> Reply {
    guard let submission = ledger.submission(id),
      case .object(var members) = submission.json(settings, context.clock.now())
    else { throw OAuthError("not_found", "there is no such submission", status: 404) }
    members["answers"] = .array(answers.map { .object($0.members) })
    return .json(.object(members))
  }
}

extension ObjectReader {
  fileprivate mutating func kyc() throws(OAuthError) -> KYC {
    let status = try requiredText("status")
    let result = try text("result")
    let reason = try text("reasonCode")
    switch (status, result) {
    case ("INITIATED", nil): return .initiated
    case ("IN_PROGRESS", nil): return .inProgress
    case ("COMPLETED", "VALID"): return .completed(isValid: true, reason: reason)
    case ("COMPLETED", "INVALID"): return .completed(isValid: false, reason: reason)
    case ("ERROR", nil): return .error(reason: reason)
    default:
      throw invalid(
        "status",
        "must be INITIATED, IN_PROGRESS, ERROR, or COMPLETED with result VALID or INVALID")
    }
  }

  fileprivate mutating func push() throws(OAuthError) -> PushRequest {
    var request = PushRequest()
    if let text = try text("url", limit: 2048) {
      guard let url = CallbackURL(text) else {
        throw invalid("url", "is not like http://127.0.0.1:8790/v1/callback/partner")
      }
      request.url = url
    }
    if let name = try text("authorization") {
      guard let kind = GoPayBackendSettings.CallbackAuthorization(rawValue: name) else {
        throw invalid(
          "authorization", "must be token, credential, bearer, otherPerson, wrong or absent")
      }
      request.authorization = kind
    }
    request.value = try text("value", limit: 8192)
    request.times = try number("times", in: GoPayBackendSettings.times)
    if let json = remove("body") {
      guard case .object(let members) = json else {
        throw invalid("body", "is not a JSON object")
      }
      request.body = members
    }
    return request
  }
}

extension Submission {
  fileprivate func json(_ settings: GoPayBackendSettings, _ now: Date) -> JSON {
    var members = members
    members["username"] = .string(person.username)
    members["partnerSessionId"] = .string(request.partnerSession)
    members["sdkSessionId"] = .string(request.session)
    members["submissionType"] = .string(request.type)
    members["lang"] = .string(request.language.rawValue)
    members["returnUrl"] = request.returnURL.map { .string($0.text) }
    members["createdAt"] = .number(created.timeIntervalSince1970)
    members["submittedAt"] = submitted.map { .number($0.timeIntervalSince1970) }
    if let kyc = kyc(settings, now: now) {
      var state: [String: JSON] = ["status": .string(kyc.status)]
      state["result"] = kyc.result.map { .string($0) }
      state["reasonCode"] = kyc.reason.map { .string($0) }
      members["kyc"] = .object(state)
    }
    return .object(members)
  }
}

extension CallbackAnswer {
  fileprivate var members: [String: JSON] {
    switch self {
    case .failed(let reason): ["failed": .string(reason)]
    case .answered(let status, let body):
      [
        "status": .integer(status),
        "body": (try? JSON(parsing: body)) ?? .string(String(decoding: body, as: UTF8.self)),
      ]
    }
  }
}

extension Push {
  fileprivate var json: JSON {
    let own: [String: JSON] = [
      "number": .integer(number), "time": .number(time.timeIntervalSince1970),
      "submissionId": .string(submissionID), "partnerSessionId": .string(partnerSessionID),
      "url": .string(url),
    ]
    return .object(answer.members.merging(own) { $1 })
  }
}
