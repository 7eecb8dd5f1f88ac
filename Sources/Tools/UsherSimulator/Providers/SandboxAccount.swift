import UsherSandbox

/// The accounts of the simulated users at the providers: two for each. Their names, numbers and
/// addresses say whose they are.
enum SandboxAccount {
  static let password = "password"
  static let pin = "2468"

  static let all = SimulatedUsers.names.keys.sorted().flatMap(names).map { name in
    User(username: name, password: password, phone: phone(of: name), pin: pin)
  }

  static func names(of uid: UInt32) -> [String] { (1...2).map { "user\(uid)-\($0)" } }

  /// The phone number of an account, in India: `+919810010001` for `user1001-1`.
  static func phone(of name: String) -> String {
    "+9198\(owner(name) ?? 0)000\(name.suffix(1))"
  }

  static func email(of name: String) -> String { "\(name)@example.com" }

  /// The account of a subject: the name for `usr_` and a name, otherwise the subject itself.
  static func name(of subject: String) -> String {
    subject.hasPrefix("usr_") ? String(subject.dropFirst("usr_".count)) : subject
  }

  /// Returns the uid of the user to whom a name, number, address or subject at a provider belongs.
  static func owner(_ subject: String) -> UInt32? {
    let prefixes = ["usr_user", "wlt_user", "request-", "user", "+9198", "9198", "98"]
    for prefix in prefixes where subject.hasPrefix(prefix) {
      return UInt32(subject.dropFirst(prefix.count).prefix(4))
    }
    return nil
  }
}
