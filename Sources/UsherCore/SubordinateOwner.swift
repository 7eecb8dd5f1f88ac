/// The user to whom a subordinate id (subuid(5)) belongs.
package enum SubordinateOwner: Sendable, Hashable {
  case user(UInt32)
  /// The user could not be determined, so it may be any user.
  case unknown
}
