import UsherAPI
import UsherCore

/// Strong Customer Authentication of one event, independent of the flow that needs it
/// (contract §2.5, §2.6): choose a verification, send a challenge, submit an attempt.
///
/// VERIFIED ends the process. The latest attempt decides, so none may follow (§10, trap 4). If a
/// call's outcome is unknown, the provider is asked before anything is sent again.
struct SCAProcess: RetryingMachine, Codable, Sendable, Equatable {
  typealias Event = FlowEvent<PaysafeCall>

  let terms: Terms
  /// The verifications that Paysafe offers for the SCA event: nil if they are unknown, empty for
  /// any method that is agreed.
  var offers: [SCADemand.Offer]?
  /// The time at which the SCA event expires; nil if it is unknown.
  var expiresAt: Timestamp?
  var counters = SCACounters()
  /// The ids of options that the provider offered and then refused.
  var unavailable: [String] = []
  var coolDown: CoolDown?
  var state: State
  var problem: Problem?

  /// The parameters of the process.
  struct Terms: Codable, Sendable, Equatable {
    let provider: ProviderName
    let event: PaysafeCall.Event
    /// The verification that the caller requests, or nil if the customer chooses.
    let wanted: PaysafeCall.Verification?
    let instructions: PaysafeCall.Instructions
    /// The description that the customer sees, if there is one.
    let operation: Operation?
    /// The seconds between two status requests while the challenge is answered elsewhere.
    let pollSeconds: Int
  }

  /// A period in which the provider sends no challenge.
  struct CoolDown: Codable, Sendable, Equatable {
    let until: Timestamp
    let word: ProviderErrorCode
  }

  enum State: Codable, Sendable, Equatable {
    /// Asks for the event's status and then shows the notice. → choosing, challenging, or the end
    case required(RetryBackoff, notice: Problem?)
    /// Lets the customer choose a verification. → challenging, or the end
    case choosing
    /// Sends a challenge. → challenged, watching, choosing, required, inquiring, or the end
    case challenging(Sending, RetryBackoff)
    /// Waits for a code or password. → attempting, challenging, or the end
    case challenged(Challenge)
    /// The challenge is answered elsewhere. → choosing, or the end
    case watching(Watch)
    /// Submits the customer's input. → challenged, inquiring, or the end
    case attempting(Challenge)
    /// A reply was lost. → challenging, challenged, watching, or the end
    case inquiring(UnknownOutcome, RetryBackoff)
  }

  /// A challenge that is being sent.
  struct Sending: Codable, Sendable, Equatable {
    let option: SCAOption
    /// The challenge that this one replaces. It may stay valid until then.
    var previous: Challenge?
    /// True after the challenge was sent again because a reply was lost. That happens at most once.
    var isRepeated: Bool?
  }

  /// A challenge whose answer the customer types.
  struct Challenge: Codable, Sendable, Equatable {
    let option: SCAOption
    let input: Input
    let sentAt: Timestamp
    /// Nil if the server does not report it.
    var expiresAt: Timestamp?
    var isOver = false

    enum Input: Codable, Sendable, Equatable {
      case code(SCAForm.Channel, digits: Int?)
      case secret(SCAForm.Purpose)
    }

    /// Returns the challenge marked as expired.
    func over(at now: Timestamp) -> Challenge {
      var challenge = self
      challenge.isOver = true
      challenge.expiresAt = min(expiresAt ?? now, now)
      return challenge
    }

    /// Returns the challenge to show after another one of the same form may have replaced it.
    ///
    /// If this one has expired, the result has no expiry, so the provider decides whether an answer
    /// is still valid.
    func reopened(for option: SCAOption, at now: Timestamp) -> Challenge {
      let isOver = isOver || expiresAt.map { $0 <= now } ?? false
      guard isOver, self.option.form == option.form else { return self }
      return Challenge(option: self.option, input: input, sentAt: now)
    }
  }

  /// A challenge that is answered on another device or page.
  struct Watch: Codable, Sendable, Equatable {
    let place: Place
    /// When the challenge expires, or nil if the server does not report it.
    let expiresAt: Timestamp?
    /// Whether a status request is in flight.
    var isAsking = false
    /// The number of consecutive status requests without a reply.
    var misses = 0

    enum Place: Codable, Sendable, Equatable {
      case device
      case page(url: String, returnURL: String)
    }
  }

  /// The action whose outcome is unknown.
  enum UnknownOutcome: Codable, Sendable, Equatable {
    case challenge(Sending)
    case attempt(Challenge)
    /// Paysafe says that the SCA event is settled, but not whether it is verified.
    case completion
  }

  /// The next action. The enclosing flow decides how it ends.
  enum Answer: InputRefusing, Sendable, Equatable {
    case proceed([Effect<PaysafeCall>])
    case verified(reason: String?)
    case fail(Failure)
    case refuse(field: String, message: String)
    case ignore
  }

  /// - Parameters:
  ///   - offers: The event's verifications, or nil if they are unknown.
  ///   - asksFirst: Whether the event's status is requested before anything is sent.
  static func begin(
    _ terms: Terms, offers: [SCADemand.Offer]?, expiresAt: Timestamp? = nil,
    asksFirst: Bool = false, at now: Timestamp
  ) -> (SCAProcess, Answer) {
    var process = SCAProcess(
      terms: terms, offers: offers, expiresAt: expiresAt.after(now),
      state: .required(RetryBackoff(), notice: nil))
    let isKnown = offers != nil || terms.wanted != nil
    let answer = isKnown && !asksFirst ? process.present(nil, now) : process.requestStatus(nil)
    return (process, answer)
  }

  mutating func receive(_ event: Event, at now: Timestamp) -> Answer {
    switch state {
    case .required(let retrying, let notice): required(event, retrying, notice, now)
    case .choosing: choosing(event, now)
    case .challenging(let sending, let retrying): challenging(event, sending, retrying, now)
    case .challenged(let challenge): challenged(event, challenge, now)
    case .watching(let watch): watching(event, watch, now)
    case .attempting(let challenge): attempting(event, challenge, now)
    case .inquiring(let unknown, let retrying): inquiring(event, unknown, retrying, now)
    }
  }
}

// Parts that all states share.
extension SCAProcess {
  /// The message that the provider may be sending to the customer now, or nil if there is none.
  var messageUnderWay: String? {
    switch state {
    case .challenging(let sending, let retrying) where !retrying.isPaused:
      sending.option.form.message
    case .inquiring(.challenge(let sending), _): sending.option.form.message
    case .required, .choosing, .challenging, .challenged, .watching, .attempting, .inquiring: nil
    }
  }

  func readStatus(_ outcome: CallOutcome) -> SCAReply<SCAEventStatus> {
    SCAReply(outcome, about: terms.event, from: terms.provider) {
      members throws(UnusableReply) in try SCAEventStatus(members)
    }
  }

  /// Applies the status of the event.
  ///
  /// - Returns: The final answer, or nil while the event is open.
  mutating func settled(_ eventStatus: SCAEventStatus, _ now: Timestamp) -> Answer? {
    switch eventStatus.status {
    case .verified: return .verified(reason: eventStatus.reason)
    case .rejected: return .fail(.refused(terms.provider, reason: eventStatus.reason))
    case .failed: return .fail(.attemptsExhausted(terms.provider, reason: eventStatus.reason))
    case .pending:
      offers = offers ?? eventStatus.offers
      expiresAt = eventStatus.expiresAt.after(now) ?? expiresAt
      counters.merge(eventStatus.counters)
      return nil
    }
  }

  /// Returns a timer for the expiry of the event or of the open challenge.
  func timer(_ now: Timestamp) -> [Effect<PaysafeCall>] {
    var times = [expiresAt]
    if case .challenged(let challenge) = state, !challenge.isOver {
      times.append(challenge.expiresAt)
    }
    guard let next = times.compactMap(\.self).min() else { return [] }
    return [.wake(after: max(next - now, .zero))]
  }

  func isExpired(_ now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

  /// Handles a timer while the customer is asked for input. It fails the flow if the event has
  /// expired. Otherwise the timer belongs to an earlier state and is set again.
  func woken(_ now: Timestamp) -> Answer {
    guard !isExpired(now) else { return .fail(.eventExpired(nil)) }
    let timer = timer(now)
    return timer.isEmpty ? .ignore : .proceed(timer)
  }
}

extension Timestamp? {
  /// Drops a time that is not after the reply that reports it, because it comes from a wrong clock.
  func after(_ now: Timestamp) -> Timestamp? { flatMap { $0 > now ? $0 : nil } }
}
