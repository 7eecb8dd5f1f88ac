import FoundationEssentials

/// The state of the Truecaller fake, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
struct TruecallerLedger: Sendable {
  /// The verification of a number by a code that was sent to it.
  struct Verification: Sendable, Hashable {
    let id: String
    let number: TruecallerNumber
    let deviceID: String
    let code: String
    let issued: Date
    var expires: Date
    var wrongCodes = 0
    /// The access token; nil until the right code was entered.
    var accessToken: String?
  }

  /// The number and the installation that an access token was issued for.
  struct Grant: Sendable, Hashable {
    let id: String
    let number: TruecallerNumber
    let deviceID: String
    /// Whether the token was issued without a code.
    let verifiedBefore: Bool
    var isRevoked = false
  }

  /// The create requests of one installation of the app.
  struct Installation: Sendable, Hashable {
    var requests = 0
    /// The most recent numbers in E.164 format, without duplicates, oldest first.
    var numbers: [String] = []
  }

  /// A number that needs no code, from one installation or from all.
  struct Known: Sendable, Hashable {
    let e164: String
    let deviceID: String?
  }

  var settings = TruecallerBackendSettings()
  let tokenGenerator: TokenGenerator
  var verifications = ExpiringTable<Verification>()
  var grants = ExpiringTable<Grant>()
  var installations = ExpiringTable<Installation>()
  private(set) var known = ExpiringTable<Known>()
  private var profiles = ExpiringTable<TruecallerProfile>()
  private var numberCounts = DailyCounts()
  private var installationCounts = DailyCounts()
  private let users: Users
  private var made = 0

  init(_ users: Users, tokenGenerator: TokenGenerator) {
    self.users = users
    self.tokenGenerator = tokenGenerator
  }

  /// Returns a new id. Ids have increasing numbers, so that they show the order of creation.
  mutating func nextID(_ prefix: String) -> String {
    made += 1
    return "\(prefix)_\(made)"
  }
}

/// Numbers that need no code.
extension TruecallerLedger {
  func isKnown(_ request: CreateRequest, now: Date) -> Bool {
    [request.deviceID, nil].contains { deviceID in
      let pair = Known(e164: request.number.e164, deviceID: deviceID)
      return known.value(pair.key, now: now) != nil
    }
  }

  /// Marks a number as verified.
  ///
  /// - Parameter deviceID: The installation that needs no code; nil: all installations.
  mutating func remember(_ number: TruecallerNumber, deviceID: String?, now: Date) {
    let pair = Known(e164: number.e164, deviceID: deviceID)
    known.insert(pair, for: pair.key, until: .distantFuture, now: now)
  }

  mutating func forgetKnown() { known = ExpiringTable() }
}

/// Daily limits for SMS.
extension TruecallerLedger {
  /// Throws if the number or the installation has reached its daily limit.
  ///
  /// - Throws: Error 4291 or 4292.
  func checkCaps(_ request: CreateRequest, now: Date) throws(TruecallerErrorReply) {
    let number = numberCounts.count(request.number.e164, now: now)
    guard number < settings.numberDailyCap else { throw .numberCap }
    let installation = installationCounts.count(request.deviceID, now: now)
    guard installation < settings.installationDailyCap else { throw .installationCap }
  }

  mutating func countSMS(_ request: CreateRequest, now: Date) {
    numberCounts.add(request.number.e164, now: now)
    installationCounts.add(request.deviceID, now: now)
  }

  mutating func forgetCounts() {
    (numberCounts, installationCounts) = (DailyCounts(), DailyCounts())
  }
}

/// Profiles by number.
extension TruecallerLedger {
  func profile(of number: TruecallerNumber, now: Date) -> TruecallerProfile {
    if let profile = profiles.value(number.e164, now: now) { return profile }
    let user = users.all.first { $0.phone == number.e164 }
    return user.map { TruecallerProfile($0) } ?? TruecallerProfile()
  }

  mutating func set(_ profile: TruecallerProfile, of number: TruecallerNumber, now: Date) {
    profiles.insert(profile, for: number.e164, until: .distantFuture, now: now)
  }
}

extension TruecallerLedger.Known {
  fileprivate var key: String { "\(e164) \(deviceID ?? "")" }
}
