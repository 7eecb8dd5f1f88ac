import Glibc
import UsherConfig
import UsherCore
import UsherFlows
import UsherSystem

/// What the daemon depends on outside itself: time, randomness, threads, the user database. Only
/// ``Daemon`` picks the real ones, so that tests and simulations can pick others (decision record
/// 0017).
struct World: Sendable {
  let settings: Settings
  let clock: any Clock
  let entropy: any Entropy
  /// The only timers of the daemon beside those of its event loops.
  let alarms: any Alarms
  /// Runs the daemon's tasks; nil: Swift's global executor. A task that is not a child of another one
  /// does not inherit it: each is started with this one.
  var executor: (any TaskExecutor)?
  /// Runs what blocks.
  var blocking: any BlockingPool = DispatchPool()
  var users = UserDatabase.system
  /// How many connections and listeners there may be before the last descriptors are used.
  var descriptors = DescriptorBudget.unlimited
  /// Whose limits count for subordinate ids, and whose rules these must not escape.
  let subordinates = SubordinateUserMap()

  /// As it is in force just now.
  var config: Config { settings.inForce.config }

  /// By which the journal, the audit and the caller know one call.
  func correlationID() -> CorrelationID { CorrelationID(identifier("cor_")) }

  func moment() -> Moment { Moment(now: clock.now(), entropy: entropy) }

  /// A name nobody can guess: `prefix` and 128 random bits in Crockford's alphabet.
  func identifier(_ prefix: String) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    return prefix + String(entropy.bytes(26).map { alphabet[Int($0 & 31)] })
  }
}

extension World {
  /// The flow that brings an account of a provider, or brings it back.
  ///
  /// - Parameter scope: What its tokens are to be good for.
  func signIn(
    at provider: ProviderName, account: AccountID? = nil, scope: String = ""
  ) -> UsherError.NextFlow? {
    guard let variety = settings.inForce.provider(provider)?.settings.variety,
      let flow = ProviderRegistry.signIn(of: variety, isKnown: account != nil)
    else { return nil }
    var grants: [String] = []
    for word in scope.split(separator: " ") {
      guard let grant = ProviderRegistry.grant(String(word), of: variety), !grants.contains(grant)
      else { continue }
      grants.append(grant)
    }
    return .init(
      provider: provider, kind: flow.kind, account: flow.namesAccount ? account : nil,
      grants: grants)
  }
}

extension LocalMoment {
  /// By this machine's clock on the wall: the rules of daylight saving are the system's.
  init(_ time: Timestamp) {
    var seconds = time_t(time.milliseconds / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    // Sunday is the first of the C library's days.
    self.init(
      weekday: Int(parts.tm_wday + 6) % 7, minute: Int(parts.tm_hour * 60 + parts.tm_min))
  }
}
