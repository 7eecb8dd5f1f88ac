/// The settings of the Paysafe fake that a test may change while it runs.
///
/// <doc:Paysafe> describes each setting.
package struct PaysafeBackendSettings: BackendSettings, Hashable {
  /// How a response says that an operation needs SCA.
  package enum Announcement: String, Sendable, Codable {
    case header
    case body
  }

  /// The `status` that a redirect carries on its way back.
  package enum RedirectStatus: String, Sendable, Codable {
    /// The customer's decision.
    case decision
    case success
    case fail
  }

  package var accessTokenSeconds = 900
  package var refreshTokenSeconds = 1800
  package var codeSeconds = 60
  package var refreshRotation = TokenTerms.Rotation.strict
  package var idToken = true
  package var digitalFingerprint = true
  package var requireDigitalFingerprint = false
  package var loginLockSeconds = 900
  /// The amount in the wallet's currency above which a payment needs SCA.
  package var scaAmount = 100.0
  package var scaForChanges = true
  package var scaForReading = false
  package var announce = Announcement.header
  package var announceStatus = 200
  package var availableVerifications = [
    "OTP.SMS", "OTP.EMAIL", "OTP.AUTHENTICATOR", "PIN", "PASSWORD", "PUSH_NOTIFICATION",
    "BIOMETRIC.REDIRECT",
  ]
  package var eventSeconds = 900
  package var challengeSeconds = 300
  package var allowableChallenges = 3
  package var allowableAttempts = 3
  package var coolDownSeconds = 60
  package var returnUrls: [String] = []
  package var redirectStatus = RedirectStatus.decision
  package var omitCounters = false
  package var nextCounters: [String: Int] = [:]
  package var attemptStatus = 200
  package var authorizeResponse: [String: JSON] = [:]
  package var tokenReply: [String: JSON] = [:]
  package var challengeReply: [String: JSON] = [:]
  package var attemptReply: [String: JSON] = [:]
  package var eventReply: [String: JSON] = [:]

  package init() {}

  var terms: TokenTerms {
    TokenTerms(
      accessTokenSeconds: accessTokenSeconds, refreshTokenSeconds: refreshTokenSeconds,
      codeSeconds: codeSeconds, rotation: refreshRotation)
  }

  /// The limits and lifetimes of an event that is opened now.
  var eventTerms: ScaEvent.Terms {
    ScaEvent.Terms(
      eventSeconds: eventSeconds, challengeSeconds: challengeSeconds,
      coolDownSeconds: coolDownSeconds, allowableChallenges: allowableChallenges,
      allowableAttempts: allowableAttempts)
  }

  package func validationError(for changes: [String: JSON]) -> String? {
    let spans = [
      accessTokenSeconds, refreshTokenSeconds, codeSeconds, loginLockSeconds, eventSeconds,
      challengeSeconds, coolDownSeconds,
    ]
    if !spans.allSatisfy(Self.seconds.contains) {
      return "seconds must be 0 to \(Self.seconds.upperBound)"
    }
    let counts = [allowableChallenges, allowableAttempts] + nextCounters.values
    if !counts.allSatisfy(Self.counts.contains) {
      return "counters must be 0 to \(Self.counts.upperBound)"
    }
    if let name = nextCounters.keys.sorted().first(where: { !ScaEvent.counters.contains($0) }) {
      return "nextCounters may contain \(ScaEvent.counters.joined(separator: ", ")), not"
        + " \(name.printable)"
    }
    if let name = availableVerifications.first(where: { SCAVerification($0)?.kind == nil }) {
      return "availableVerifications contains an unknown value: \(name.printable)"
    }
    if let url = returnUrls.first(where: { ReturnURL($0) == nil }) {
      return "returnUrls must contain http and https URLs, not \(url.printable)"
    }
    return statusError
  }

  /// The allowed range of a counter.
  static let counts = 0...1000

  private var statusError: String? {
    if !(0...1_000_000).contains(scaAmount) {
      "scaAmount must be 0 to 1000000"
    } else if !(200...299).contains(announceStatus)
      && (announceStatus == 401 || !(400...499).contains(announceStatus))
    {
      "announceStatus must be 200 to 299 or 400 to 499, but not 401"
    } else if ![200, 201].contains(attemptStatus) {
      "attemptStatus must be 200 or 201"
    } else {
      nil
    }
  }
}

extension PaysafeBackendSettings.Announcement {
  var form: WalletRequestOperation.Form {
    switch self {
    case .header: .header
    case .body: .body
    }
  }
}
