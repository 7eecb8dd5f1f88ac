/// The user that a subordinate id (subuid(5)) belongs to.
package enum SubordinateOwner: Sendable, Hashable {
  case user(UInt32)
  /// The user could not be determined, so it may be any user.
  case unknown
}
