import UsherConfig
import UsherCore
import UsherFlows

/// What comes from outside: time, chance, settings. Only ``Daemon`` picks the real ones.
struct World: Sendable {
  let config: Config
  let clock: any Clock
  let entropy: any Entropy
  let alarms: any Alarms

  func moment() -> Moment { Moment(now: clock.now(), entropy: entropy) }

  /// A name nobody can guess: `prefix` and 128 random bits in Crockford's alphabet.
  func identifier(_ prefix: String) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    return prefix + String(entropy.bytes(26).map { alphabet[Int($0 & 31)] })
  }
}
