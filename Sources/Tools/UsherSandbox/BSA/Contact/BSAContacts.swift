import FoundationEssentials

/// The numbers sent to contacts, and the disposeTokens issued for them, as one value.
struct BSAContacts: Sendable {
  struct Number: Sendable, Hashable {
    enum State: String, Sendable, Hashable {
      case waiting
      case used
      case spent
    }

    let contact: MemberContact
    let code: String
    let sent: Date
    var expires: Date
    var attemptsLeft: Int
    var state = State.waiting
  }

  struct DisposeToken: Sendable, Hashable {
    let contact: MemberContact
    var expires: Date
    var isUsed = false
  }

  /// Seconds for which expired entries are remembered.
  private static let memory = 3600.0

  private let tokenGenerator: TokenGenerator
  private var table = ExpiringTable<Number>()
  private var tokenTable = ExpiringTable<DisposeToken>()
  private var sent = DailyCounts()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  /// All numbers, oldest first.
  var numbers: [Number] { table.values }
  /// All disposeTokens, oldest first.
  var disposeTokens: [DisposeToken] { tokenTable.values }

  /// Creates a number for a contact, which replaces the previous one.
  ///
  /// - Throws: 3006 within `resendSeconds` of the previous number, or if `otpPerDay` numbers were
  ///   sent within 24 hours.
  mutating func number(
    for contact: MemberContact, _ settings: BSABackendSettings, now: Date
  ) throws(BSARefusal) -> String {
    if let last = table.value(contact.key, now: now),
      now < last.sent.addingTimeInterval(Double(settings.resendSeconds))
    {
      throw .tooEarly
    }
    guard sent.count(contact.key, now: now) < settings.otpPerDay else { throw .tooManyToday }
    sent.add(contact.key, now: now)
    let expires = now.addingTimeInterval(Double(settings.otpSeconds))
    let code = tokenGenerator.digits(settings.otpDigits)
    let wait = now.addingTimeInterval(Double(settings.resendSeconds))
    table.insert(
      Number(
        contact: contact, code: code, sent: now, expires: expires,
        attemptsLeft: settings.attempts),
      for: contact.key, until: max(expires, wait).addingTimeInterval(Self.memory), now: now)
    return code
  }

  /// Returns a disposeToken for the right number; nil for a wrong one.
  ///
  /// - Throws: 3006 if the number has expired, was used, has no attempts left or was never sent.
  mutating func verify(
    _ code: String, of contact: MemberContact, _ settings: BSABackendSettings, now: Date
  ) throws(BSARefusal) -> String? {
    guard let number = table.value(contact.key, now: now), number.state == .waiting,
      number.expires > now
    else { throw .numberOver }
    guard number.code == code else {
      table.update(contact.key) { number in
        number.attemptsLeft -= 1
        if number.attemptsLeft <= 0 { number.state = .spent }
      }
      return nil
    }
    table.update(contact.key) { $0.state = .used }
    let token = tokenGenerator.token("dsp")
    let expires = now.addingTimeInterval(Double(settings.disposeTokenSeconds))
    tokenTable.insert(
      DisposeToken(contact: contact, expires: expires), for: token,
      until: expires.addingTimeInterval(Self.memory), now: now)
    return token
  }

  /// Throws 3006 if the token is not valid for the contact. Does not use up the token.
  func check(_ token: String, for contact: MemberContact, now: Date) throws(BSARefusal) {
    guard let known = tokenTable.value(token, now: now), !known.isUsed, known.expires > now,
      known.contact.isSame(as: contact)
    else { throw .disposeToken }
  }

  mutating func use(_ token: String) { tokenTable.update(token) { $0.isUsed = true } }

  mutating func expireNumbers(now: Date) { table.updateAll { $0.expires = min($0.expires, now) } }

  mutating func expireTokens(now: Date) {
    tokenTable.updateAll { $0.expires = min($0.expires, now) }
  }
}
