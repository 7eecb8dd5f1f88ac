import JSONRPC
import UsherConfig
import UsherCore

/// Paysafe's counters of challenges and attempts for an SCA event, as far as it reports them.
///
/// The daemon never computes the counters itself. They may jump and go backwards.
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

  /// The number of attempts that the customer has left; nil if Paysafe does not report it.
  var attemptsLeft: Int? {
    guard let currentAttempts, let allowableAttempts else { return nil }
    return max(allowableAttempts - currentAttempts, 0)
  }

  /// Applies the counters of a later reply. A counter that the reply omits keeps its value.
  mutating func merge(_ newer: SCACounters) {
    currentChallenges = newer.currentChallenges ?? currentChallenges
    allowableChallenges = newer.allowableChallenges ?? allowableChallenges
    currentAttempts = newer.currentAttempts ?? currentAttempts
    allowableAttempts = newer.allowableAttempts ?? allowableAttempts
  }

  /// Applies the counters in Paysafe's reply to a submitted attempt. Paysafe has counted the
  /// attempt, so the known number of attempts is out of date and is dropped unless the reply
  /// reports a new one.
  mutating func merge(afterAttempt newer: SCACounters) {
    currentAttempts = nil
    merge(newer)
  }
}

/// The content of a reply about a challenge of Strong Customer Authentication (SCA).
struct SCAChallengeDetails: Sendable, Equatable {
  /// The action that the challenge requires from the customer; nil if the verification is absent or
  /// unknown.
  let form: SCAForm?
  let target: String?
  let expiresAt: Timestamp?
  let digits: Int?
  /// The page on which the customer confirms, for verification REDIRECT: `https`, or `http` on the
  /// loopback.
  let page: String?

  init(_ members: [String: JSONValue]) {
    let offer = members["verification"].flatMap { SCADemand.Offer($0) }
    form = offer?.verification.form
    target = offer?.target
    expiresAt = members["expirationTime"]?.timestamp
    digits = members["digits"]?.count.flatMap { (1...32).contains($0) ? $0 : nil }
    page = members["verification"]?["action"]?["redirectUrl"]?.stringValue.flatMap {
      // The fragment is only for the browser, so it is not part of the check.
      ProviderURL(usable: String($0.prefix { $0 != "#" })) == nil
        || !$0.utf8.allSatisfy(\.isVisible)
        ? nil : $0
    }
  }
}

/// The status of an SCA event, as Paysafe reports it.
struct SCAEventStatus: Sendable, Equatable {
  let status: Status
  let reason: String?
  /// The event's verifications. Empty means any method agreed with Paysafe.
  let offers: [SCADemand.Offer]
  let expiresAt: Timestamp?
  /// The challenge that the customer has not answered yet; nil if there is none.
  let challenge: SCAChallengeDetails?
  let counters: SCACounters

  enum Status: String, Sendable {
    case pending = "PENDING"
    case verified = "VERIFIED"
    /// The customer has no attempts left.
    case failed = "FAILED"
    /// The customer refused the approval.
    case rejected = "REJECTED"
  }

  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let status = members["status"]?.stringValue.flatMap(Status.init(rawValue:)) else {
      throw UnusableReply("the provider does not report the event's status")
    }
    guard let offers = SCADemand.Offer.list(members["availableVerifications"]) else {
      throw UnusableReply("none of the event's verifications can be read")
    }
    self.status = status
    self.offers = offers
    reason = members.reason
    expiresAt = members["expirationTime"]?.timestamp
    challenge = members["challenge"]?.objectValue.map { SCAChallengeDetails($0) }
    counters = SCACounters(members)
  }
}

/// The result of an attempt: of one answer by the customer to a challenge.
struct SCAVerdict: Sendable, Equatable {
  let status: Status
  let reason: String?
  let counters: SCACounters

  enum Status: String, Sendable {
    case verified = "VERIFIED"
    /// The code or password is wrong.
    case failed = "FAILED"
    case rejected = "REJECTED"
  }

  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let status = members["status"]?.stringValue.flatMap(Status.init(rawValue:)) else {
      throw UnusableReply("the provider does not report the result of the attempt")
    }
    self.status = status
    reason = members.reason
    counters = SCACounters(members)
  }
}

extension [String: JSONValue] {
  fileprivate var reason: String? { ProviderText.shown(self["statusReason"]?.stringValue) }
}

extension JSONValue {
  fileprivate var timestamp: Timestamp? { stringValue.flatMap { Timestamp(rfc3339: $0) } }

  /// The value as a counter: a whole number from 0 to a million, written as `3` or `3.0`; nil
  /// otherwise.
  fileprivate var count: Int? {
    guard let number = numberValue, number >= 0, number <= 1_000_000, number == number.rounded()
    else { return nil }
    return Int(number)
  }
}
