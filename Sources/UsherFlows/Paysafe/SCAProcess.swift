import UsherAPI
import UsherCore

/// Strong Customer Authentication of one event, whoever wants it (contract §2.5, §2.6): a verification
/// is chosen, a challenge is sent, an attempt is made.
///
/// VERIFIED ends it: the latest attempt decides, so none may follow (§10, trap 4). What may have
/// happened is asked of the provider before anything is sent again.
struct SCAProcess: Codable, Sendable, Equatable {
  let terms: Terms
  /// The event's verifications; nil where nobody said, empty for any agreed method.
  var offers: [SCADemand.Offer]?
  /// When the event is over, where that is known.
  var expiresAt: Timestamp?
  var counters = SCACounters()
  /// Options by their ids that the provider offered and then did not take.
  var unavailable: [String] = []
  var coolDown: CoolDown?
  var state: State
  var problem: Problem?

  /// What it is begun with.
  struct Terms: Codable, Sendable, Equatable {
    let provider: ProviderName
    let event: PaysafeCall.Event
    /// What the caller wants; nil where the person chooses.
    let wanted: PaysafeCall.Verification?
    let instructions: PaysafeCall.Instructions
    /// What the person is shown, as far as it is known.
    let operation: Operation?
    /// Between two questions about an event that is settled elsewhere.
    let pollSeconds: Int
  }

  /// The provider sends no challenge for a while.
  struct CoolDown: Codable, Sendable, Equatable {
    let until: Timestamp
    let word: ProviderErrorCode
  }

  enum State: Codable, Sendable, Equatable {
    /// The event is asked about; then this is told. → choosing, challenging, or the end
    case required(RetryBackoff, notice: Problem?)
    /// → challenging, or the end
    case choosing
    /// → challenged, watching, choosing, required, inquiring, or the end
    case challenging(Sending, RetryBackoff)
    /// A code or password is awaited. → attempting, challenging, or the end
    case challenged(Challenge)
    /// The event is settled elsewhere. → choosing, or the end
    case watching(Watch)
    /// → challenged, inquiring, or the end
    case attempting(Challenge)
    /// An answer was lost. → challenging, challenged, watching, or the end
    case inquiring(Doubt, RetryBackoff)
  }

  /// A challenge that is under way.
  struct Sending: Codable, Sendable, Equatable {
    let option: SCAOption
    /// The one it replaces, which may still be good until it does.
    var previous: Challenge?
    /// True once it was sent again after an answer was lost: that is done once.
    var isRepeated: Bool?
  }

  /// A challenge whose answer the person types.
  struct Challenge: Codable, Sendable, Equatable {
    let option: SCAOption
    let input: Input
    let sentAt: Timestamp
    /// Nil where the server does not tell.
    var expiresAt: Timestamp?
    var isOver = false

    enum Input: Codable, Sendable, Equatable {
      case code(SCAForm.Channel, digits: Int?)
      case secret(SCAForm.Purpose)
    }

    /// It is of no use any more.
    func over(at now: Timestamp) -> Challenge {
      var challenge = self
      challenge.isOver = true
      challenge.expiresAt = min(expiresAt ?? now, now)
      return challenge
    }

    /// The same where it may have been replaced by another one of its kind: whether its time still counts
    /// is for the provider to say.
    func reopened(for option: SCAOption, at now: Timestamp) -> Challenge {
      let isOver = isOver || expiresAt.map { $0 <= now } ?? false
      guard isOver, self.option.form == option.form else { return self }
      return Challenge(option: self.option, input: input, sentAt: now)
    }
  }

  /// A challenge that is answered elsewhere.
  struct Watch: Codable, Sendable, Equatable {
    let place: Place
    /// When the challenge is over, where the server tells.
    let expiresAt: Timestamp?
    /// A question about the event is under way.
    var isAsking = false
    /// Questions in a row that brought no answer.
    var misses = 0

    enum Place: Codable, Sendable, Equatable {
      case device
      case page(url: String, returnURL: String)
    }
  }

  /// What it is that may have happened.
  enum Doubt: Codable, Sendable, Equatable {
    case challenge(Sending)
    case attempt(Challenge)
    /// The provider says that the event is settled, and not how.
    case completion
  }

  /// What to do; an end is the embracing flow's to give.
  enum Answer: Sendable, Equatable {
    case proceed([Effect<PaysafeCall>])
    case verified(reason: String?)
    case fail(Failure)
    case refuse(field: String, message: String)
    case ignore
  }

  /// - Parameters:
  ///   - offers: The event's verifications; nil where nobody said.
  ///   - asksFirst: Whether it is to be asked how the event stands before anything is sent.
  static func begin(
    _ terms: Terms, offers: [SCADemand.Offer]?, expiresAt: Timestamp? = nil,
    asksFirst: Bool = false, at now: Timestamp
  ) -> (SCAProcess, Answer) {
    var process = SCAProcess(
      terms: terms, offers: offers, expiresAt: expiresAt.after(now),
      state: .required(RetryBackoff(), notice: nil))
    let isKnown = offers != nil || terms.wanted != nil
    let answer = isKnown && !asksFirst ? process.present(nil, now) : process.ask(nil)
    return (process, answer)
  }

  mutating func receive(_ event: FlowEvent<PaysafeCall>, at now: Timestamp) -> Answer {
    switch state {
    case .required(let retrying, let notice): required(event, retrying, notice, now)
    case .choosing: choosing(event, now)
    case .challenging(let sending, let retrying): challenging(event, sending, retrying, now)
    case .challenged(let challenge): challenged(event, challenge, now)
    case .watching(let watch): watching(event, watch, now)
    case .attempting(let challenge): attempting(event, challenge, now)
    case .inquiring(let doubt, let retrying): inquiring(event, doubt, retrying, now)
    }
  }
}

// What all states share.
extension SCAProcess {
  /// What the provider may be sending to the person just now; nil where that is nothing.
  var messageUnderWay: String? {
    switch state {
    case .challenging(let sending, let retrying) where !retrying.isPaused:
      sending.option.form.message
    case .inquiring(.challenge(let sending), _): sending.option.form.message
    case .required, .choosing, .challenging, .challenged, .watching, .attempting, .inquiring: nil
    }
  }

  func standing(_ outcome: CallOutcome) -> SCAReply<SCAStanding> {
    SCAReply(outcome, about: terms.event, from: terms.provider) {
      members throws(UnusableReply) in try SCAStanding(members)
    }
  }

  /// Takes over what the provider says of the event.
  ///
  /// - Returns: The end; nil while the event is open.
  mutating func settled(_ standing: SCAStanding, _ now: Timestamp) -> Answer? {
    switch standing.status {
    case .verified: return .verified(reason: standing.reason)
    case .rejected: return .fail(.refused(terms.provider, reason: standing.reason))
    case .failed: return .fail(.attemptsExhausted(terms.provider, reason: standing.reason))
    case .pending:
      offers = offers ?? standing.offers
      expiresAt = standing.expiresAt.after(now) ?? expiresAt
      counters.take(standing.counters)
      return nil
    }
  }

  /// Wakes the flow when the event or the open challenge is over.
  func timer(_ now: Timestamp) -> [Effect<PaysafeCall>] {
    var times = [expiresAt]
    if case .challenged(let challenge) = state, !challenge.isOver {
      times.append(challenge.expiresAt)
    }
    guard let next = times.compactMap(\.self).min() else { return [] }
    return [.wake(after: max(next - now, .zero))]
  }

  func isExpired(_ now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

  /// While a person is asked: the event is over, or a timer of an earlier state rang.
  func woken(_ now: Timestamp) -> Answer {
    guard !isExpired(now) else { return .fail(.eventExpired(nil)) }
    let timer = timer(now)
    return timer.isEmpty ? .ignore : .proceed(timer)
  }
}

extension Timestamp? {
  /// A time that lies before the answer that tells of it is another clock's: it says nothing.
  func after(_ now: Timestamp) -> Timestamp? { flatMap { $0 > now ? $0 : nil } }
}
