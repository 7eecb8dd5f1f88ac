/// A kind of event that makes life hard for the daemon. Each run has a random selection of them.
package enum Hazard: String, Sendable, CaseIterable {
  /// Requests and replies are lost, late, garbled, repeated or refused.
  case network
  /// Orderly stops.
  case stops
  /// The process is killed, between two steps or between two operations on the disk.
  case kills
  /// The machine loses its power, and the disk a part of what was not synced.
  case powerFailures
  /// The disk fails or has little room, or the process has no descriptors left.
  case disk
  /// The wall clock is set.
  case clock
  /// The configuration is changed and loaded again.
  case reloads
  case locks
  /// A user's sign-in is revoked at the provider.
  case revocations
}
