/// A user that a subordinate id (subuid(5)) belongs to.
package enum SubordinateOwner: Sendable, Hashable {
  case user(UInt32)
  /// The user could not be found out: it may be any.
  case unknown
}
