import JSONRPC
import UsherAPI
import UsherCore

// The customer's answer to a challenge, and Paysafe's verdict on it.
extension SCAProcess {
  mutating func challenged(_ event: Event, _ challenge: Challenge, _ now: Timestamp) -> Answer {
    switch (event, challenge.input) {
    case (.input(.code(let code, let fields)), .code(_, let digits)):
      if let name = fields.keys.min() {
        return .refuse(
          field: "input.fields.\(name)", message: "input.fields.\(name) was not asked for")
      }
      if let flaw = Self.flaw(code: code, digits: digits) {
        return .refuse(field: "input.code", message: "input.code \(flaw)")
      }
      return attempt(code, challenge, now)
    case (.input(.resend), .code):
      return sendUnlessCoolingDown(Sending(option: challenge.option, previous: challenge), now)
    case (.input(.alternative(let id, _)), _):
      guard let option = alternatives(to: challenge).first(where: { $0.id == id }) else {
        return .notAnAlternative
      }
      return sendUnlessCoolingDown(Sending(option: option, previous: challenge), now)
    case (.input(.password(let password)), .secret):
      guard (1...1024).contains(password.revealed().utf8.count) else {
        return .refuse(field: "input.password", message: "input.password must have 1 to 1024 bytes")
      }
      return attempt(password, challenge, now)
    case (.woken, _):
      guard let expiry = challenge.expiresAt, expiry <= now, !challenge.isOver, !isExpired(now)
      else { return woken(now) }
      return show(challenge.over(at: now), .challengeExpired, now)
    case (.daemon(.resumed), _): return .proceed(timer(now))
    case (.input, _), (.browser, _), (.provider, _), (.daemon, _): return .ignore
    }
  }

  /// Returns why a code is malformed; nil if it is well-formed. A malformed code is not sent to
  /// Paysafe.
  private static func flaw(code: Secret, digits: Int?) -> String? {
    let bytes = code.revealed().utf8
    if let digits {
      return bytes.count == digits && bytes.allSatisfy(\.isDigit)
        ? nil : "must have \(digits) digits"
    }
    return (1...64).contains(bytes.count) && bytes.allSatisfy(\.isVisible)
      ? nil : "must have 1 to 64 letters and digits without spaces"
  }

  private mutating func attempt(
    _ value: Secret, _ challenge: Challenge, _ now: Timestamp
  ) -> Answer {
    let isOver = challenge.isOver || challenge.expiresAt.map { $0 <= now } ?? false
    guard !isOver else { return show(challenge.over(at: now), .challengeExpired, now) }
    state = .attempting(challenge)
    problem = nil
    return .proceed([.call(.attempt(terms.event, challenge.option.verification, value: value))])
  }

  mutating func attempting(_ event: Event, _ challenge: Challenge, _ now: Timestamp) -> Answer {
    switch event {
    case .provider(
      .called(.attempt(terms.event, challenge.option.verification, let value), let outcome)):
      return answered(outcome.withoutTexts(repeating: value), challenge, now)
    case .daemon(.resumed): return inquire(.attempt(challenge))
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ challenge: Challenge, _ now: Timestamp
  ) -> Answer {
    switch SCAReply(outcome, about: terms.event, from: terms.provider, SCAVerdict.init) {
    case .success(let verdict): return handleVerdict(verdict, challenge, now)
    case .refused(let refusal): return refused(refusal, challenge, now)
    case .failed(let fault) where !fault.mayHaveTakenEffect:
      return show(challenge, .unreachable(fault.message), now)
    // Paysafe may have counted the attempt and may have accepted it, so the event's status decides.
    case .failed, .unreadable: return inquire(.attempt(challenge))
    case .noToken(let message): return .fail(.loginRequired(message))
    }
  }

  private mutating func handleVerdict(
    _ verdict: SCAVerdict, _ challenge: Challenge, _ now: Timestamp
  ) -> Answer {
    switch verdict.status {
    case .verified: return .finish(.verified(reason: verdict.reason))
    case .rejected: return .fail(.refused(terms.provider, reason: verdict.reason))
    case .failed:
      counters.merge(afterAttempt: verdict.counters)
      guard counters.attemptsLeft != 0 else {
        return .fail(.attemptsExhausted(terms.provider, reason: verdict.reason))
      }
      return show(challenge, .wrongCode(terms.provider, reason: verdict.reason), now)
    }
  }

  private mutating func refused(
    _ refusal: SCARefusal, _ challenge: Challenge, _ now: Timestamp
  ) -> Answer {
    switch refusal.kind {
    case .noChallenge: return show(challenge.over(at: now), .challengeExpired, now)
    case .completed: return inquire(.completion)
    case .tooMany(let after):
      return show(challenge, .rateLimited(refusal.errorCode, for: after), now)
    case .unavailable, .expired, .exhausted, .noSuchCall, .other: return .fail(refusal.failure)
    }
  }
}

extension FlowAnswer {
  static var notAnAlternative: FlowAnswer {
    .refuse(field: "input.alternative", message: "input.alternative is not one of the alternatives")
  }
}

extension CallOutcome {
  /// Returns the outcome without those of Paysafe's texts that repeat the customer's input, because
  /// they are shown and stored.
  ///
  /// `HTTPReply.withoutEchoes(of:)` does not mask values as short as a code or PIN, nor replies
  /// that are not refusals. Here the whole text is removed, because a gap in it would reveal a very
  /// short value.
  fileprivate func withoutTexts(repeating value: Secret) -> CallOutcome {
    guard case .reply(var reply) = self, var members = reply.jsonObject else { return self }
    members.dropText("statusReason", repeating: value)
    if var error = members["error"]?.objectValue {
      error.dropText("message", repeating: value)
      // A plain code word is Paysafe's own, not a repetition of the input. The next state depends
      // on it.
      if error["code"]?.stringValue.map(SCADemand.Offer.isWord) != true {
        error.dropText("code", repeating: value)
      }
      members["error"] = .object(error)
    }
    reply.body = JSONValue.object(members).encoded()
    return .reply(reply)
  }
}

extension [String: JSONValue] {
  fileprivate mutating func dropText(_ name: String, repeating value: Secret) {
    if self[name]?.stringValue?.contains(value.revealed()) ?? false { self[name] = nil }
  }
}
