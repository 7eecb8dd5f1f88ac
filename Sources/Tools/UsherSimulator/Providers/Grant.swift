/// A user's sign-in at a provider, and the tokens that come from it.
final class Grant {
  /// The realm of the provider: `/oidc` (``ProviderWire/realm(_:)``).
  let provider: String
  /// The account at the provider: `user1001-1`.
  let account: String
  /// The time at which the provider issued the first tokens.
  let begin: UInt64
  /// The number of access tokens that the provider has issued, without ``exchanges``.
  var generations = 0
  /// The number of access tokens that the provider has issued in exchange for others.
  var exchanges = 0
  /// The public key to which the provider has bound the tokens; nil if it has bound them to none.
  var key: String?
  /// The newest refresh token that the provider has issued.
  var refreshToken: String?
  /// The newest generation whose tokens the daemon may not have: their reply did not arrive, or the
  /// daemon was killed before it showed that it had stored them.
  private var lost: Int?
  /// Whether the provider may have ended the grant.
  private(set) var isRevoked = false
  /// Whether the reply with the first tokens reached the daemon.
  private(set) var isKnown = false
  /// The newest generation that reached the daemon; -1 if none did.
  private var delivered = -1
  /// The newest generation that the daemon had handed out for each audience, with the time, in
  /// ascending order. The key is empty for tokens without an audience.
  private var handedOut: [String: [(time: UInt64, generation: Int)]] = [:]
  /// The audiences whose tokens were got in exchange for others. They have generations of their
  /// own, and show nothing about the refresh token.
  private var exchangedAudiences: Set<String> = []

  init(provider: String, account: String, begin: UInt64) {
    self.provider = provider
    self.account = account
    self.begin = begin
  }

  /// Whether the daemon may be unable to use the grant.
  var mayBeUnusable: Bool { isRevoked || lost != nil }

  var wasHandedOut: Bool { !handedOut.isEmpty }

  func revoke() { isRevoked = true }

  func deliver(_ generation: Int) {
    isKnown = true
    delivered = max(delivered, generation)
    // The daemon refreshed with tokens that it had, and has newer ones now.
    if let lost, lost < generation { self.lost = nil }
  }

  func lose(_ generation: Int) { lost = max(lost ?? generation, generation) }

  /// Records that the daemon was killed: it has stored what it handed out, and perhaps no more.
  func daemonWasKilled() {
    if delivered > newestHandedOut { lose(delivered) }
  }

  func handOut(
    _ generation: Int, for audience: String?, at time: UInt64, isExchanged: Bool = false
  ) {
    let key = audience ?? ""
    if isExchanged { exchangedAudiences.insert(key) }
    guard generation > handedOut[key]?.last?.generation ?? -1 else { return }
    handedOut[key, default: []].append((time, generation))
    if !isExchanged, let lost, lost <= generation { self.lost = nil }
  }

  /// The newest generation that was handed out, for any audience; -1 if none was.
  var newestHandedOut: Int {
    handedOut.filter { !exchangedAudiences.contains($0.key) }
      .compactMap(\.value.last?.generation).max() ?? -1
  }

  /// Returns the newest generation that had been handed out for an audience at a time; -1 if none
  /// had.
  func newestHandedOut(for audience: String?, at time: UInt64) -> Int {
    handedOut[audience ?? ""]?.last { $0.time < time }?.generation ?? -1
  }
}
