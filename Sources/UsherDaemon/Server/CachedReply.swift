import UsherCore

/// A reply of a cheap call that may be given again to the same call of the same connection, for as
/// long as nothing that it came of is another (Speed.md § The short path).
struct CachedReply: Sendable {
  /// Encoded.
  let reply: [UInt8]
  /// From when it was first given to when what it gives is no longer good: a clock that was set back
  /// ends it too.
  let moments: ClosedRange<Timestamp>
  /// Whose contents it gives.
  let repository: AccountRepository
  /// Nil where another call like this would have to be decided anew.
  var decision: Decision?

  /// What was decided of the call, and holds for others like it.
  struct Decision: Sendable {
    /// The book's generation before anything was read in it.
    let accounts: Int
    let audit: any Auditing
    let call: AuditRepeat
  }
}
