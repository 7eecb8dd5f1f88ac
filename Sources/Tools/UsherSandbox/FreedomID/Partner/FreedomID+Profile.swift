import FoundationEssentials

/// The partner API: requests for another person's profile, which that person accepts or rejects.
extension FreedomIDBackend {
  /// Creates a profile request. If the `request_id` is known, returns the state of that request.
  func requestProfile(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let (owner, grants) = try bearer(call)
      guard grants.contains(FreedomGrant.readProfile) else { throw FreedomRefusal.mayNotGive }
      var body = try FreedomBody(call)
      let id = body.required("request_id", .uuid)
      _ = body.required("created_at", .time)
      let freedomID = body.text("freedom_id", .uuid)
      let phone = body.text("phone", .phone)
      let asked = body.grants(knowing: FreedomGrant.words)
      if body.errors.isEmpty, (freedomID == nil) == (phone == nil) {
        body.addError("freedom_id", "or phone is required, but not both")
      }
      try body.finish()
      let person =
        freedomID.flatMap { ledger.person($0) }
        ?? phone.flatMap { ledger.person(knownAs: .phone($0)) }
      let now = context.clock.now()
      let state = settings.profileAnswer.state(isKnown: person != nil)
      let request = ledger.add(
        FreedomRequest(
          id: id, owner: owner.id, asked: person?.id, grants: asked, created: now, state: state,
          settled: state == .pending ? nil : now),
        settings, now: now)
      return .json(.object(answered(request).applying(overrides: settings.profileReply)))
    }
  }

  /// Returns the state of a profile request. The request has a body, although it is a GET.
  func profileStatus(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      let (owner, _) = try bearer(call)
      var body = try FreedomBody(call)
      let id = body.required("request_id", .uuid)
      try body.finish()
      let now = context.clock.now()
      let request = ledger.requests.value(FreedomRequest.key(owner.id, id), now: now)
      let members = status(id, request, now)
      return .json(.object(members.applying(overrides: settings.statusReply)))
    }
  }

  /// The response to a profile request. It has no profile data.
  private func answered(_ request: FreedomRequest) -> [String: JSON] {
    var members: [String: JSON] = ["request_id": .string(request.id)]
    switch state(request) {
    case .completed:
      members["status"] = "accepted"
      members["freedom_id"] = request.asked.map { .string($0) }
    case .rejected:
      members["status"] = "rejected"
      members["status_message"] = .string(FreedomRequest.declined)
    case .pending, .failed, .notFound: members["status"] = "pending"
    }
    return members
  }

  private func status(_ id: String, _ request: FreedomRequest?, _ now: Date) -> [String: JSON] {
    var members: [String: JSON] = ["request_id": .string(id), "datetime": now.freedomTime]
    switch request.map(state) ?? .notFound {
    case .pending: members["status"] = "pending"
    case .completed:
      guard let request, let person = request.asked.flatMap({ ledger.person($0) }) else {
        return members.merging(["status": "not_found"]) { $1 }
      }
      members["status"] = "completed"
      members["freedom_id"] = .string(
        settings.otherAccount ? context.tokenGenerator.uuid() : person.id)
      members["profile"] = .object(profile(person, request.grants))
    // This response has no status for a rejection.
    case .rejected:
      members["status"] = "failed"
      members["status_message"] = .string(FreedomRequest.declined)
    case .failed:
      members["status"] = "failed"
      members["status_message"] = "the profile could not be read"
    case .notFound:
      members["status"] = "not_found"
      members["status_message"] = "the request is unknown, or no account matches it"
    }
    return members
  }

  private func state(_ request: FreedomRequest) -> FreedomRequest.State {
    settings.profileAnswer == .pending ? .pending : request.state
  }
}

extension FreedomRequest {
  fileprivate static let declined = "the person declined"
}

extension FreedomIDBackendSettings.ProfileAnswer {
  /// The initial state of a new request.
  fileprivate func state(isKnown: Bool) -> FreedomRequest.State {
    switch self {
    case .ask where isKnown, .pending: .pending
    case .accept where isKnown: .completed
    case .reject: .rejected
    case .fail: .failed
    case .ask, .accept, .notFound: .notFound
    }
  }
}
