import UsherConfig
import UsherCore

/// The methods of client authentication that providers have refused where `client_auth` is `auto`.
struct RefusedAuthMethods {
  /// How long no other method is tried after a provider has refused two: the credential is then
  /// probably wrong, and each further request would be sent twice.
  private static let pause = Duration.seconds(300)

  /// The endpoints of a provider whose metadata lists their methods together: the revocation
  /// endpoint has a list of its own (RFC 8414 §2).
  struct Endpoint: Hashable {
    let provider: ProviderName
    let isRevocation: Bool
  }

  private struct Entry {
    var count = 0
    /// The time on the monotonic clock until which no other method is tried.
    var pausedUntil: Timestamp?
  }

  private var entries: [Endpoint: Entry] = [:]

  /// Returns how many methods the endpoint has refused, which is the index of the next one.
  func count(at endpoint: Endpoint) -> Int { entries[endpoint]?.count ?? 0 }

  /// Whether another method may be tried after a refusal.
  func mayTryAnother(at endpoint: Endpoint, now: Timestamp) -> Bool {
    entries[endpoint]?.pausedUntil.map { $0 <= now } ?? true
  }

  /// Records that the endpoint accepts the method with an index.
  mutating func recordAccepted(_ index: Int, at endpoint: Endpoint) {
    entries[endpoint] = Entry(count: index)
  }

  /// Records that the endpoint has refused another method, too.
  mutating func recordRefusal(at endpoint: Endpoint, now: Timestamp) {
    entries[endpoint, default: Entry()].pausedUntil = now + Self.pause
  }

  /// Forgets the refusals of providers whose configuration or credential has changed.
  mutating func remove(_ providers: Set<ProviderName>) {
    entries = entries.filter { !providers.contains($0.key.provider) }
  }
}
