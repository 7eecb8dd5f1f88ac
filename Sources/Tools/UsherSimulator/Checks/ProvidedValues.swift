/// The values that the providers gave the daemon and the people, and to whom they belong: tokens,
/// codes, and what results of flows show.
final class ProvidedValues: @unchecked Sendable {
  private var owners: [String: UInt32?] = [:]
  private var notes: [String: String] = [:]

  /// Records a value.
  ///
  /// - Parameter owner: The uid of the user; nil if it can be anybody's.
  func record(_ value: String, owner: UInt32?) {
    guard owner != nil || owners[value] == nil else { return }
    owners[value] = .some(owner)
  }

  /// Whether a provider gave a value to a user, or to anybody.
  func isProvided(_ value: String, to uid: UInt32) -> Bool {
    guard let owner = owners[value] else { return false }
    return (owner ?? uid) == uid
  }

  /// Returns the owner of a value that was recorded; otherwise the one that the value itself names.
  func owner(of value: String) -> UInt32? {
    (owners[value] ?? nil) ?? SandboxAccount.owner(value)
  }

  /// Whether a value may be shown to a user: it is the user's, or a provider gave it to anybody.
  func mayBelong(_ value: String, to uid: UInt32) -> Bool {
    owners[value] == nil ? owner(of: value) == uid : isProvided(value, to: uid)
  }

  func isKnown(_ value: String) -> Bool { owners[value] != nil }

  /// Remembers something that later requests mean without saying it.
  func note(_ text: String, of subject: String) { notes[subject] = text }

  func note(of subject: String) -> String? { notes[subject] }
}
