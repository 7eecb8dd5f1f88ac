import FoundationEssentials

/// The kind of local authentication on a device.
enum MemberAuthType: Int, Sendable, Hashable, CaseIterable {
  case none = 0
  case biometric = 3
  case passcode = 4
}

/// A registered person with one device.
struct MemberRegistration: Sendable, Hashable {
  /// Whether the person may sign in.
  enum Status: String, Sendable, Hashable, CaseIterable {
    case active
    case suspended
    case suspendedForGood
    case withdrawn

    var refusal: BSARefusal? {
      switch self {
      case .active: nil
      case .suspended: BSARefusal(5006, "the user is temporarily suspended")
      case .suspendedForGood: BSARefusal(5007, "the user is permanently suspended")
      case .withdrawn: BSARefusal(5008, "the user has withdrawn")
      }
    }
  }

  struct Device: Sendable, Hashable {
    /// The id, a UUID in lower case.
    let id: String
    var authType: MemberAuthType
    var name = ""
    var appPackage = ""
    var appVersion = ""
    var hasPushToken = false
    /// The secret of its TOTP numbers.
    let secret: [UInt8]
    /// The time step of the last accepted TOTP number.
    var lastStep: Int?

    /// The authenticator of the device: 6 digits, 60 seconds, SHA-1.
    var totp: TOTP { TOTP(secret: secret, period: 60) }
  }

  let userKey: String
  let name: String
  let email: MemberContact
  let phone: MemberContact
  let registered: Date
  var updated: Date
  var device: Device
  var status = Status.active

  func contact(_ kind: MemberContact.Kind) -> MemberContact {
    switch kind {
    case .email: email
    case .phone: phone
    }
  }

  /// Throws 5006, 5007 or 5008 if the person may not sign in.
  func checkActive() throws(BSARefusal) {
    if let refusal = status.refusal { throw refusal }
  }
}

/// All registrations in the order in which they were made.
struct BSAMembers: Sendable {
  /// The largest number of registrations.
  static let limit = 10_000

  private(set) var all: [MemberRegistration] = []

  subscript(userKey: String) -> MemberRegistration? { all.first { $0.userKey == userKey } }

  func has(_ contact: MemberContact) -> Bool {
    all.contains { $0.contact(contact.kind).isSame(as: contact) }
  }

  /// Returns the registrations on a device.
  func on(device: String) -> [MemberRegistration] { all.filter { $0.device.id == device } }

  /// Throws 2009 for a taken user key, 2019 for a taken contact, 2005 if the limit is reached.
  func checkUnique(
    _ userKey: String, _ email: MemberContact, _ phone: MemberContact
  ) throws(BSARefusal) {
    guard self[userKey] == nil else { throw .userKeyTaken }
    guard !has(email), !has(phone) else { throw .contactTaken }
    guard all.count < Self.limit else { throw .full }
  }

  mutating func add(_ registration: MemberRegistration) { all.append(registration) }

  /// Changes a registration; does nothing if the user key is unknown.
  mutating func update(_ userKey: String, _ change: (inout MemberRegistration) -> Void) {
    guard let index = all.firstIndex(where: { $0.userKey == userKey }) else { return }
    change(&all[index])
  }

  /// Removes a registration; returns false if the user key is unknown.
  mutating func remove(_ userKey: String) -> Bool {
    let count = all.count
    all.removeAll { $0.userKey == userKey }
    return all.count < count
  }
}

/// Base32 with padding (RFC 4648 §6).
enum Base32Encoding {
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

  static func text(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 5) {
      let group = bytes[start..<min(start + 5, bytes.count)]
      let value = group.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << (8 * (5 - group.count))
      let count = (group.count * 8 + 4) / 5
      text += String((0..<count).map { letters[Int(value >> (35 - 5 * $0) & 31)] })
      text += String(repeating: "=", count: 8 - count)
    }
    return text
  }
}
