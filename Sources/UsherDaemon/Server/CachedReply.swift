import UsherCore

/// A reply to a cheap call that the same connection may send again if the call is repeated, as long
/// as nothing on which the reply depends has changed (Speed.md § The short path).
struct CachedReply: Sendable {
  /// The encoded result of the RPC call.
  let reply: [UInt8]
  /// The time range in which the reply may be sent: from when it was first sent until the data in
  /// it expires. If the clock is set back to a time before, the reply is not sent either.
  let validity: ClosedRange<Timestamp>
  /// The repository of the accounts that the reply was made from.
  let repository: AccountRepository
  /// The policy decision about the RPC call; nil if the next identical call must be decided again.
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
