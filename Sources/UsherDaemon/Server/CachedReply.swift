import UsherCore

/// A reply to a cheap call that the same connection may send again if the call is repeated, as long
/// as nothing on which the reply depends has changed (Speed.md § The short path).
struct CachedReply: Sendable {
  /// The encoded result of the call.
  let reply: [UInt8]
  /// From the time of the first reply to the time at which the reply expires. A clock that is set
  /// back ends the validity, too.
  let validity: ClosedRange<Timestamp>
  /// The repository of the accounts that the reply was made from.
  let repository: AccountRepository
  /// The policy decision about the call; nil if the next identical call must be decided again.
  var decision: Decision?

  /// A policy decision that also applies to later identical calls.
  struct Decision: Sendable {
    /// The value of ``AccountRepository/generation`` before the call read any account. The decision
    /// is invalid once the value has changed.
    let accounts: Int
    let audit: AuditRecorder
    let call: AuditRepeat
  }
}
