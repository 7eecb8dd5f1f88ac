import JSONRPC
import UsherConfig
import UsherCore

/// The server's counters, as far as it tells them. None is kept or predicted here: they may jump, and
/// go backwards.
struct SCACounters: Codable, Sendable, Equatable {
  private(set) var currentChallenges: Int?
  private var allowableChallenges: Int?
  private var currentAttempts: Int?
  private var allowableAttempts: Int?

  init() {}

  init(_ members: [String: JSONValue]) {
    currentChallenges = members["currentChallenges"]?.count
    allowableChallenges = members["allowableChallenges"]?.count
    currentAttempts = members["currentAttempts"]?.count
    allowableAttempts = members["allowableAttempts"]?.count
  }

  /// Nil where the server does not tell.
  var attemptsLeft: Int? {
    guard let currentAttempts, let allowableAttempts else { return nil }
    return max(allowableAttempts - currentAttempts, 0)
  }

  /// Takes over what an answer tells; what it leaves out stands as it was.
  mutating func take(_ news: SCACounters) {
    currentChallenges = news.currentChallenges ?? currentChallenges
    allowableChallenges = news.allowableChallenges ?? allowableChallenges
    currentAttempts = news.currentAttempts ?? currentAttempts
    allowableAttempts = news.allowableAttempts ?? allowableAttempts
  }

  /// An attempt was made: how many there have been is known only if its answer tells.
  mutating func take(afterAttempt news: SCACounters) {
    currentAttempts = nil
    take(news)
  }
}

/// What an answer tells of a challenge.
struct SCAChallengeNews: Sendable, Equatable {
  /// What the verification asks of the person, where it is named and known.
  let form: SCAForm?
  let target: String?
  let expiresAt: Timestamp?
  let digits: Int?
  /// The page of a REDIRECT: `https`, or `http` on the loopback.
  let page: String?

  init(_ members: [String: JSONValue]) {
    let offer = members["verification"].flatMap { SCADemand.Offer($0) }
    form = offer?.verification.form
    target = offer?.target
    expiresAt = members["expirationTime"]?.timestamp
    digits = members["digits"]?.count.flatMap { (1...32).contains($0) ? $0 : nil }
    page = members["verification"]?["action"]?["redirectUrl"]?.stringValue.flatMap {
      // What stands behind a `#` is the browser's own.
      ProviderURL(usable: String($0.prefix { $0 != "#" })) == nil
        || !$0.utf8.allSatisfy(\.isVisible)
        ? nil : $0
    }
  }
}

/// How an event stands.
struct SCAStanding: Sendable, Equatable {
  let status: Status
  let reason: String?
  /// Empty means any agreed method.
  let offers: [SCADemand.Offer]
  let expiresAt: Timestamp?
  /// The open one.
  let challenge: SCAChallengeNews?
  let counters: SCACounters

  enum Status: String, Sendable {
    case pending = "PENDING"
    case verified = "VERIFIED"
    /// The attempts are used up.
    case failed = "FAILED"
    /// The person said no.
    case rejected = "REJECTED"
  }

  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let status = members["status"]?.stringValue.flatMap(Status.init(rawValue:)) else {
      throw UnusableReply("the provider does not say how the event stands")
    }
    guard let offers = SCADemand.Offer.list(members["availableVerifications"]) else {
      throw UnusableReply("none of the event's verifications can be read")
    }
    self.status = status
    self.offers = offers
    reason = members.reason
    expiresAt = members["expirationTime"]?.timestamp
    challenge = members["challenge"]?.objectValue.map { SCAChallengeNews($0) }
    counters = SCACounters(members)
  }
}

/// What became of an attempt.
struct SCAVerdict: Sendable, Equatable {
  let status: Status
  let reason: String?
  let counters: SCACounters

  enum Status: String, Sendable {
    case verified = "VERIFIED"
    /// The value is wrong.
    case failed = "FAILED"
    case rejected = "REJECTED"
  }

  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let status = members["status"]?.stringValue.flatMap(Status.init(rawValue:)) else {
      throw UnusableReply("the provider does not say what became of the attempt")
    }
    self.status = status
    reason = members.reason
    counters = SCACounters(members)
  }
}

extension [String: JSONValue] {
  fileprivate var reason: String? {
    let text = self["statusReason"]?.stringValue.map { ProviderText.clean($0) } ?? ""
    return text.isEmpty ? nil : text
  }
}

extension JSONValue {
  fileprivate var timestamp: Timestamp? { stringValue.flatMap { Timestamp(rfc3339: $0) } }

  /// A whole number that is not negative, `3` or `3.0`.
  fileprivate var count: Int? {
    guard let number = numberValue, number >= 0, number <= 1_000_000, number == number.rounded()
    else { return nil }
    return Int(number)
  }
}
