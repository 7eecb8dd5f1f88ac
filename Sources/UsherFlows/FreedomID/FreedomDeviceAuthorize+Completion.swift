import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The consent that is submitted to Freedom ID, which replies with the user's profile.
struct FreedomCompletion: Codable, Sendable, Equatable {
  let account: NamedAccount
  let remembered: [DataGrant]
  let new: [DataGrant]
  /// The UUID that identifies this submission at Freedom ID; the same for each attempt.
  let request: String
  var retrying = RetryBackoff()
}

extension FreedomDeviceAuthorize {
  mutating func complete(
    _ account: NamedAccount, _ remembered: [DataGrant], new: [DataGrant],
    _ transition: inout TransitionContext
  ) -> Answer {
    problem = nil
    return send(
      FreedomCompletion(
        account: account, remembered: remembered, new: new, request: transition.uuid()))
  }

  private mutating func send(_ completion: FreedomCompletion) -> Answer {
    state = .completing(completion)
    return .proceed([.call(call(completion))])
  }

  private func call(_ completion: FreedomCompletion) -> FreedomDeviceCall {
    .consent(
      completion.account.id, requested(completion), request: completion.request,
      device: order.device)
  }

  private func requested(_ completion: FreedomCompletion) -> [DataGrant] {
    order.grants.filter { completion.remembered.contains($0) || completion.new.contains($0) }
  }

  mutating func completing(
    _ event: Event, _ completion: FreedomCompletion, _ now: Timestamp
  ) -> Answer {
    let retrying = completion.retrying
    if event.repeatsCall(retrying) { return send(copy(completion) { $0.retrying.endPause() }) }
    return event.outcome(of: call(completion), retrying).map { completed($0, completion, now) }
      ?? .ignore
  }

  private mutating func completed(
    _ outcome: CallOutcome, _ completion: FreedomCompletion, _ now: Timestamp
  ) -> Answer {
    switch FreedomIDReply(outcome) {
    case .success(let members): return finish(members, completion, now)
    case .refused(let refusal) where refusal.refusesToken: return signInAgain(completion, refusal)
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.tokenErrorCode, provider.name))
    case .noToken: return signInAgain(completion, nil)
    case .failed(let fault):
      let failure = Failure.unreachable(fault, provider.name)
      return retry(completion.retrying, failure, after: fault.retryAfter) { flow, backoff in
        flow.state = .completing(copy(completion) { $0.retrying = backoff })
      }
    case .unreadable(let flaw): return .fail(.unusable(flaw, provider.name))
    }
  }

  /// Lets the user log in again, because the provider no longer accepts the account's token. If
  /// that happens again after the new log-in, the flow fails.
  private mutating func signInAgain(
    _ completion: FreedomCompletion, _ refusal: FreedomIDRefusal?
  ) -> Answer {
    guard !hasSignedInAgain else {
      let errorCode = FreedomIDErrorCode.autheticationError
      return .fail(
        .rejected(
          "the provider accepts no token of this log-in",
          errorCode.providerErrorCode(provider.name, refusal)))
    }
    hasSignedInAgain = true
    tied.removeAll { $0.id == completion.account.id }
    return signIn(.signedOut(provider.name))
  }

  private func finish(
    _ members: [String: JSONValue], _ completion: FreedomCompletion, _ now: Timestamp
  ) -> Answer {
    let requested = requested(completion)
    guard let id = members["id"]?.stringValue, let texts = members["granted"]?.strings,
      let profile = members["profile"]?.objectValue
    else {
      return .fail(
        .unusable(
          "the provider's answer has no id, granted or profile", .parsingError, provider.name))
    }
    guard id.hasSameBytes(as: completion.account.subject) else {
      return .fail(.contradiction("the provider's answer is about another account", provider.name))
    }
    let named = texts.map { DataGrant(either: $0) }
    guard named.allSatisfy({ $0.map(requested.contains) ?? false }) else {
      return .fail(.contradiction("the provider grants data that was not requested", provider.name))
    }
    let granted = requested.filter(named.contains)
    guard !granted.isEmpty else {
      return .fail(.denied("the provider grants none of the requested data", provider.name))
    }
    do throws(UnusableReply) {
      let profile = try FreedomGrantedProfile(profile, granted: granted)
      return .finish(completion.end(profile, granted, provider.settings.grantDays, now))
    } catch {
      return .fail(.unusable(error.message, .parsingError, provider.name))
    }
  }
}

extension JSONValue {
  /// The elements of an array of strings; nil if the value is anything else.
  fileprivate var strings: [String]? {
    guard let values = arrayValue else { return nil }
    let texts = values.compactMap(\.stringValue)
    return texts.count == values.count ? texts : nil
  }
}

extension FreedomCompletion {
  fileprivate func end(
    _ profile: FreedomGrantedProfile, _ granted: [DataGrant], _ days: Int, _ now: Timestamp
  ) -> Completion {
    var grant = AccountGrant(
      subject: account.subject, label: account.label, profile: profile.members, tokens: nil)
    grant.isByConsent = true
    grant.consents = granted.filter(new.contains).map {
      ConsentGrant(grant: $0.rawValue, member: $0.member, expiresAt: now + .seconds(days * 86_400))
    }
    return Completion(
      grant: grant,
      result: [
        "granted": .array(granted.map { .string($0.rawValue) }),
        "profile": .object(profile.members),
      ],
      preconditions: .init(
        account: account.id,
        consents: Set(granted.filter(remembered.contains).map(\.rawValue))))
  }
}

extension Problem {
  fileprivate static func signedOut(_ provider: ProviderName) -> Problem {
    Problem(
      reason: "signed_out", title: "Signed out",
      message: "the account is no longer linked to this device: please sign in again",
      provider: FreedomIDErrorCode.autheticationError.providerErrorCode(provider))
  }
}
