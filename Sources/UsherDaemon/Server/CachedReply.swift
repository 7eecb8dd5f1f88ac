import UsherCore

/// Reply to a cheap call that the same connection may send again for the same call, as long as
/// nothing that the reply depends on has changed (Speed.md § The short path).
struct CachedReply: Sendable {
  /// The encoded result.
  let reply: [UInt8]
  /// From the time of the first reply to the time at which the reply expires. A clock that is set
  /// back ends the validity, too.
  let validity: ClosedRange<Timestamp>
  /// The repository of the accounts that the reply was made from.
  let repository: AccountRepository
  /// The decision behind the reply; nil if the next call like this must be decided again.
  var decision: Decision?

  /// Policy decision that also applies to later identical calls.
  struct Decision: Sendable {
    /// The repository's generation before the call read anything from it.
    let accounts: Int
    let audit: AuditRecorder
    let call: AuditRepeat
  }
}
